package outbox.memory;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
