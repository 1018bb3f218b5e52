package outbox.testing;

import outbox.rules.ModuleStructure;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.testing");
    }
}
