package outbox.spring.boot;

import outbox.rules.ModuleStructure;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.spring.boot");
    }
}
