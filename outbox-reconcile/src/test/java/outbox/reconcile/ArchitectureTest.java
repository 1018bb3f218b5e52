package outbox.reconcile;

import outbox.rules.EngineRules;

class ArchitectureTest extends EngineRules {}
