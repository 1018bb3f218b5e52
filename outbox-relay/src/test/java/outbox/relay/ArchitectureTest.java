package outbox.relay;

import outbox.rules.EngineRules;

class ArchitectureTest extends EngineRules {}
