package outbox;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import org.junit.jupiter.api.Test;
import outbox.rules.ModuleStructure;
import outbox.rules.PublicApi;

import java.util.List;
import java.util.Set;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static org.assertj.core.api.Assertions.assertThat;

/** The layers of the core. The packages of the kernel may use each other; the layers above it have no cycle. */
class StructureTest extends ModuleStructure {

    private static final Set<String> KERNEL = Set.of(
            "outbox",
            "outbox.spi",
            "outbox.model",
            "outbox.order",
            "outbox.util",
            "outbox.internal",
            "outbox.internal.text");

    private static final int MAX_EXPORTED_TYPES = 90;

    StructureTest() {
        super("outbox");
    }

    @Test
    void each_layer_uses_only_those_below_it() {
        layeredArchitecture()
                .consideringAllDependencies()
                .layer("kernel")
                .definedBy(KERNEL.toArray(String[]::new))
                .layer("routes and payloads")
                .definedBy("outbox.registry", "outbox.inbox", "outbox.payload")
                .layer("table")
                .definedBy("outbox.admin", "outbox.purge", "outbox.poller")
                .layer("dispatch")
                .definedBy("outbox.dispatch")
                .layer("runtime")
                .definedBy("outbox.runtime")
                .whereLayer("routes and payloads")
                .mayOnlyBeAccessedByLayers("table", "dispatch", "runtime")
                .whereLayer("table")
                .mayOnlyBeAccessedByLayers("dispatch", "runtime")
                .whereLayer("dispatch")
                .mayOnlyBeAccessedByLayers("runtime")
                .whereLayer("runtime")
                .mayNotBeAccessedByAnyLayer()
                .ignoreDependency(outbox.spi.OutboxPollerHandler.class, outbox.poller.OutboxPollerHandler.class)
                .ensureAllClassesAreContainedInArchitecture()
                .check(CLASSES);
    }

    /** A type that only has a meaning as a part of another type is nested in it; a helper is internal. */
    @Test
    void the_core_exports_a_limited_number_of_types() {
        List<String> exported = PublicApi.publicTypes().map(JavaClass::getName).toList();

        assertThat(exported).hasSizeBetween(1, MAX_EXPORTED_TYPES);
    }

    /**
     * The exception is the handler of the English specification, which only extends that of the
     * Chinese specification.
     */
    @Test
    @Override
    protected void packages_have_no_cycle() {
        SlicesRuleDefinition.slices()
                .assignedFrom(packages(name -> KERNEL.contains(name) ? "kernel" : name))
                .should()
                .beFreeOfCycles()
                .ignoreDependency(outbox.spi.OutboxPollerHandler.class, outbox.poller.OutboxPollerHandler.class)
                .check(CLASSES);
    }
}
