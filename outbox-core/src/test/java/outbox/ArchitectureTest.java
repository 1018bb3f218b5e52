package outbox;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.AccessTarget;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import outbox.internal.SystemTime;

import java.io.ObjectInputStream;
import java.time.Clock;
import java.util.Set;
import java.util.concurrent.Executors;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

/** What the code of the core may not do, wherever it is written. */
class ArchitectureTest {

    /** Unbounded ways to run or queue things that are meant so, with the class that explains why. */
    private static final Set<String> BOUNDED_ELSEWHERE = Set.of(
            "outbox.dispatch.WorkerPool", // a cached pool, of at most twice workerCount threads: see replace
            "outbox.dispatch.Marker"); // a linked queue: what is in it was accepted, and isBehind bounds that

    @SuppressWarnings("NullAway.Init") // set before all tests
    private static JavaClasses core;

    @BeforeAll
    static void readTheCore() {
        core = new ClassFileImporter()
                .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
                .importPackages("outbox");
    }

    @Test
    void the_core_needs_only_the_jdk() {
        check(classes().should().onlyDependOnClassesThat().resideInAnyPackage("java..", "org.jspecify..", "outbox.."));
    }

    @Test
    void the_core_knows_no_adapter() {
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
        rule.check(core);
    }
}
