package outbox.opentelemetry;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

import java.time.Instant;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

@AnalyzeClasses(packages = "outbox.opentelemetry", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

    @ArchTest
    static final ArchRule it_needs_the_core_and_one_library = classes()
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage("java..", "org.jspecify..", "io.opentelemetry..", "outbox..");

    @ArchTest
    static final ArchRule nobody_reaches_into_another_module = noClasses()
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("outbox.internal", "outbox.jdbc..", "outbox.testing..");

    @ArchTest
    static final ArchRule nobody_reads_the_clock_of_the_machine = noClasses()
            .should()
            .callMethod(Instant.class, "now")
            .orShould()
            .callMethod(System.class, "currentTimeMillis");

    @ArchTest
    static final ArchRule nobody_sleeps = noClasses().should().callMethod(Thread.class, "sleep", long.class);
}
