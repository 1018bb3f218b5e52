package outbox.reconcile;

import outbox.rules.ModuleStructure;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.reconcile", "outbox.internal");
    }
}
