package outbox.memory;

import outbox.rules.ModuleStructure;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.memory", "outbox.internal");
    }
}
