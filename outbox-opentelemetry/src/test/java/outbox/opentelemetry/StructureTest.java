package outbox.opentelemetry;

import outbox.rules.ModuleStructure;

class StructureTest extends ModuleStructure {

    StructureTest() {
        super("outbox.opentelemetry");
    }
}
