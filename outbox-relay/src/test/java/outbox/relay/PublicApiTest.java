package outbox.relay;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
