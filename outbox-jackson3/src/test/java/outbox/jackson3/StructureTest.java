package outbox.jackson3;

import outbox.rules.ModuleStructure;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.jackson3");
    }
}
