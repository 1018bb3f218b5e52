package outbox.cli;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

import java.time.Instant;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

@AnalyzeClasses(packages = "outbox.cli", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

    @ArchTest
    static final ArchRule nobody_reaches_into_another_module =
            noClasses().should().dependOnClassesThat().resideInAPackage("outbox.internal");

    @ArchTest
    static final ArchRule the_doctor_knows_nothing_of_the_command = noClasses()
            .that()
            .resideInAPackage("outbox.cli.doctor")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("outbox.cli");

    @ArchTest
    static final ArchRule nobody_reads_the_clock_of_the_machine = noClasses()
            .should()
            .callMethod(Instant.class, "now")
            .orShould()
            .callMethod(System.class, "currentTimeMillis");

    @ArchTest
    static final ArchRule nobody_sleeps = noClasses().should().callMethod(Thread.class, "sleep", long.class);
}
