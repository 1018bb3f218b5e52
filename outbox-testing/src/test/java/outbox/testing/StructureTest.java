package outbox.testing;

import org.junit.jupiter.api.Test;
import outbox.rules.ModuleStructure;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.testing");
    }

    /** A test of an application or of a store needs no server, no proxy and no process. */
    @Test
    void applications_and_contracts_use_no_other_package_and_servers_need_no_faults() {
        layeredArchitecture()
                .consideringOnlyDependenciesInLayers()
                .layer("application")
                .definedBy("outbox.testing")
                .layer("contract")
                .definedBy("outbox.testing.contract")
                .layer("metrics")
                .definedBy("outbox.testing.metrics")
                .layer("fault")
                .definedBy("outbox.testing.fault")
                .layer("server")
                .definedBy("outbox.testing.server")
                .layer("internal")
                .definedBy("outbox.testing.internal")
                .whereLayer("application")
                .mayNotBeAccessedByAnyLayer()
                .whereLayer("contract")
                .mayNotBeAccessedByAnyLayer()
                .whereLayer("metrics")
                .mayNotBeAccessedByAnyLayer()
                .whereLayer("fault")
                .mayNotBeAccessedByAnyLayer()
                .whereLayer("server")
                .mayOnlyBeAccessedByLayers("fault")
                .whereLayer("internal")
                .mayOnlyBeAccessedByLayers("server", "fault", "metrics")
                .ensureAllClassesAreContainedInArchitecture()
                .check(CLASSES);
    }
}
