package outbox.rabbitmq;

import outbox.rules.ModuleStructure;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.rabbitmq");
    }
}
