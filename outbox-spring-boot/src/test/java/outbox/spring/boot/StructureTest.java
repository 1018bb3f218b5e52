package outbox.spring.boot;

import org.junit.jupiter.api.Test;
import outbox.rules.ModuleStructure;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;

/** The layers of this module. The features are one layer each and do not know each other. */
class StructureTest extends ModuleStructure {

    private static final String ROOT = "outbox.spring.boot";
    private static final String[] FEATURES = {"actuate", "http", "inbox", "monitoring", "rabbit", "reconcile"};

    StructureTest() {
        super(ROOT);
    }

    @Test
    void each_package_uses_only_those_below_it() {
        var layers = layeredArchitecture()
                .consideringOnlyDependenciesInAnyPackage(ROOT + "..")
                .layer("boot")
                .definedBy(ROOT)
                .layer("diagnostics")
                .definedBy(ROOT + ".diagnostics")
                .layer("internal")
                .definedBy(ROOT + ".internal")
                .layer("autoconfigure")
                .definedBy(ROOT + ".autoconfigure");
        for (String feature : FEATURES) {
            layers = layers.layer(feature).definedBy(ROOT + "." + feature);
        }
        layers = layers.whereLayer("boot")
                .mayNotAccessAnyLayer()
                .whereLayer("diagnostics")
                .mayNotAccessAnyLayer()
                .whereLayer("internal")
                .mayOnlyAccessLayers("boot", "diagnostics")
                .whereLayer("autoconfigure")
                .mayOnlyAccessLayers("boot", "internal");
        for (String feature : FEATURES) {
            layers = layers.whereLayer(feature).mayNotBeAccessedByAnyLayer();
        }
        layers.ensureAllClassesAreContainedInArchitecture().check(CLASSES);
    }
}
