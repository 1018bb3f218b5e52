package outbox.jackson;

import outbox.rules.ModuleStructure;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.jackson");
    }
}
