package outbox;

import outbox.rules.EngineRules;

class ArchitectureTest extends EngineRules {}
