package outbox.rules;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Test;
import outbox.internal.SystemTime;

import java.io.ObjectInputStream;
import java.time.Clock;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

/** Rules for the code of the modules that run without any library: core, memory, reconcile and relay. */
public abstract class EngineRules {

    /** Classes that use an unbounded executor or queue; a comment in each class explains why. */
    private static final Set<String> BOUNDED_ELSEWHERE = Set.of(
            "outbox.dispatch.WorkerPool", // a cached pool of at most twice workerCount threads: see replace
            "outbox.dispatch.OutcomeQueue"); // a linked queue: isFull limits the accepted outcomes

    /** Classes of the engine that wait or start a thread without a {@code Loop}, with the reason. See ADR 70. */
    private static final Set<String> WAIT_WITHOUT_LOOP = Set.of(
            "outbox.dispatch.AsyncRuns", // close waits for asynchronous runs
            "outbox.dispatch.DeliveryQueues", // workers wait for an event
            "outbox.dispatch.OrderGate", // waits briefly after a query for several events
            "outbox.dispatch.OutboxDispatcher", // if a listener calls close, a new thread runs it
            "outbox.dispatch.OutcomeQueue", // waits under load, so that more outcomes share a commit
            "outbox.dispatch.OutcomeWriter", // pauses between attempts to write the same group
            "outbox.dispatch.WorkerPool", // threads of the workers; close waits for them
            "outbox.poller.PollCycle", // waits until the database time is certain
            "outbox.purge.PurgeRun"); // pauses between batches

    @Test
    void only_the_jdk_is_needed() {
        check(classes().should().onlyDependOnClassesThat().resideInAnyPackage("java..", "org.jspecify..", "outbox.."));
    }

    @Test
    void no_adapter_is_known() {
        check(noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("outbox.jdbc..", "outbox.spring..", "outbox.testing.."));
    }

    @Test
    void only_one_class_reads_the_wall_clock() {
        DescribedPredicate<AccessTarget.CodeUnitCallTarget> wallClock = describe(
                "the wall clock",
                target -> target.getName().equals("now")
                                && target.getOwner().getPackageName().equals("java.time")
                        || target.getName().equals("currentTimeMillis")
                        || target.getOwner().isEquivalentTo(Clock.class)
                                && target.getName().startsWith("system")
                        || target.getOwner().getName().equals("java.util.Date")
                                && target.getName().equals("<init>"));

        check(noClasses()
                .that()
                .doNotHaveFullyQualifiedName(SystemTime.class.getName())
                .should()
                .callCodeUnitWhere(target(wallClock)));
    }

    @Test
    void nobody_sleeps() {
        check(noClasses()
                .should()
                .callMethodWhere(target(
                        describe("Thread.sleep", target -> target.getName().equals("sleep")))));
    }

    @Test
    void nothing_is_deserialized_or_loaded_by_name() {
        check(noClasses().should().dependOnClassesThat().areAssignableTo(ObjectInputStream.class));
        check(noClasses()
                .should()
                .callMethodWhere(target(describe(
                        "a class by its name",
                        target -> target.getName().equals("forName")
                                || target.getName().equals("loadClass")))));
    }

    @Test
    void what_runs_or_queues_without_bound_is_named_with_a_reason() {
        DescribedPredicate<AccessTarget.CodeUnitCallTarget> unbounded = describe(
                "an unbounded executor or queue",
                target -> target.getOwner().isEquivalentTo(Executors.class)
                        || target.getName().equals("<init>")
                                && target.getOwner()
                                        .getName()
                                        .matches(
                                                "java\\.util\\.concurrent\\.(Linked|Priority|Delay|ConcurrentLinked).*|"
                                                        + "java\\.util\\.concurrent\\.(ThreadPoolExecutor|ScheduledThreadPoolExecutor|ForkJoinPool)|"
                                                        + "java\\.util\\.Timer"));

        check(noClasses()
                .that(describe("are not excepted", type -> !BOUNDED_ELSEWHERE.contains(type.getName())))
                .should()
                .callCodeUnitWhere(target(unbounded)));
    }

    @Test
    void dispatch_and_poller_wait_and_start_threads_in_loops_only() {
        DescribedPredicate<AccessTarget.CodeUnitCallTarget> waits = describe(
                "a wait or the start of a thread",
                target -> target.getOwner().isAssignableTo(Thread.class)
                                && target.getName().matches("<init>|start|join|sleep")
                        || target.getOwner().isEquivalentTo(LockSupport.class)
                        || target.getOwner().isEquivalentTo(TimeUnit.class)
                                && target.getName().matches("timedWait|timedJoin|sleep")
                        || target.getName().equals("wait") && target.getOwner().isEquivalentTo(Object.class)
                        || target.getName().matches("await|awaitNanos|awaitUninterruptibly|tryAcquire|acquire")
                                && target.getOwner().getPackageName().startsWith("java.util.concurrent")
                        || target.getOwner().isEquivalentTo(Executors.class));

        check(noClasses()
                .that()
                .resideInAnyPackage("outbox.dispatch..", "outbox.poller..", "outbox.purge..")
                .and(describe("are not excepted", type -> !WAIT_WITHOUT_LOOP.contains(type.getName())))
                .should()
                .callCodeUnitWhere(target(waits)));
    }

    @Test
    void nothing_is_printed() {
        check(noClasses().should().accessField(System.class, "out").orShould().accessField(System.class, "err"));
        check(noClasses()
                .should()
                .callMethodWhere(target(
                        describe("printStackTrace", target -> target.getName().equals("printStackTrace")))));
    }

    @Test
    void the_process_is_never_ended() {
        check(noClasses()
                .should()
                .callMethodWhere(target(describe(
                        "the end of the process",
                        target -> target.getOwner().isEquivalentTo(System.class)
                                        && target.getName().equals("exit")
                                || target.getOwner().isEquivalentTo(Runtime.class)
                                        && target.getName().equals("halt")))));
    }

    @Test
    void the_exceptions_are_told_by_their_names() {
        check(classes().that().areAssignableTo(Throwable.class).should().haveSimpleNameEndingWith("Exception"));
        check(classes().that().areAssignableTo(Exception.class).should().beAssignableTo(RuntimeException.class));
    }

    private static <T extends JavaAccess<?>> DescribedPredicate<T> target(
            DescribedPredicate<AccessTarget.CodeUnitCallTarget> predicate) {
        return describe(
                predicate.getDescription(),
                access ->
                        access.getTarget() instanceof AccessTarget.CodeUnitCallTarget called && predicate.test(called));
    }

    private static void check(ArchRule rule) {
        rule.allowEmptyShould(true).check(ModuleStructure.CLASSES); // not every module has its own exceptions
    }
}
