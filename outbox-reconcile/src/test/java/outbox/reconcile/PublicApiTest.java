package outbox.reconcile;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
