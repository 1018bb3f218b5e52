package outbox.memory;

import outbox.rules.EngineRules;

class ArchitectureTest extends EngineRules {}
