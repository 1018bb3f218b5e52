package outbox.relay;

import outbox.rules.ModuleStructure;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.relay", "outbox.internal");
    }
}
