package outbox.spring;

import outbox.rules.ModuleStructure;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.spring");
    }
}
