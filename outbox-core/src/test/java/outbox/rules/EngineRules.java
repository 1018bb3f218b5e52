package outbox.rules;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Test;
import outbox.internal.SystemTime;
import outbox.spi.Claim;

import java.io.ObjectInputStream;
import java.security.SecureRandom;
import java.time.Clock;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

/** Rules for the code of the modules that run without any library: core, memory, reconcile and relay. */
public abstract class EngineRules {

    /** Classes that use an unbounded executor or queue; a comment in each class explains why. */
    private static final Set<String> BOUNDED_ELSEWHERE =
            Set.of("outbox.dispatch.OutcomeQueue"); // a linked queue: isFull limits the accepted outcomes

    /** Classes that read the clock of the JVM, or its random numbers, without a {@code Scheduler}. See ADR 73. */
    private static final Set<String> WITHOUT_SCHEDULER = Set.of(
            "outbox.internal.SystemScheduler", // the only scheduler outside of tests
            "outbox.internal.Threads", // the factories of its threads
            "outbox.internal.ThrottledLog", // limits lines of the log
            // an application builds these before there is an engine, and can replace each or its clock
            "outbox.dispatch.CircuitBreaker$Builder",
            "outbox.dispatch.Protection$Builder",
            "outbox.dispatch.DefaultInFlightTracker",
            "outbox.dispatch.ExponentialBackoffRetryPolicy",
            "outbox.dispatch.RetryPolicy");

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
    void an_engine_has_its_clock_waits_threads_and_random_numbers_from_its_scheduler() {
        DescribedPredicate<JavaAccess<?>> bypass = describe("a clock, a wait, a thread or a random number", access -> {
            JavaClass owner = access.getTarget().getOwner();
            String name = access.getTarget().getName();
            boolean concurrent = owner.getPackageName().startsWith("java.util.concurrent");
            return owner.isEquivalentTo(System.class) && name.equals("nanoTime")
                    || owner.isEquivalentTo(Claim.class) && name.equals("startingNow")
                    || owner.isAssignableTo(Thread.class) && name.matches("<init>|start|join|sleep")
                    || owner.isEquivalentTo(LockSupport.class)
                    || owner.isEquivalentTo(Executors.class)
                    || owner.isEquivalentTo(TimeUnit.class) && name.matches("timedWait|timedJoin|sleep")
                    || owner.isAssignableTo(Random.class)
                            && !owner.isEquivalentTo(SecureRandom.class) // names that must be unique
                    || name.equals("wait") && owner.isEquivalentTo(Object.class)
                    || concurrent && name.matches("newCondition|tryAcquire|acquire")
                    || concurrent && name.startsWith("await") && !owner.isAssignableTo(Condition.class)
                    || owner.isAssignableTo(Future.class) && name.matches("get|join")
                    || owner.isAssignableTo(BlockingQueue.class) && name.matches("take|put|poll|offer");
        });

        check(noClasses()
                .that()
                .resideInAnyPackage("outbox.dispatch..", "outbox.poller..", "outbox.purge..", "outbox.internal..")
                .and(describe("are not excepted", type -> !WITHOUT_SCHEDULER.contains(type.getName())))
                .should()
                .accessTargetWhere(bypass));
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
