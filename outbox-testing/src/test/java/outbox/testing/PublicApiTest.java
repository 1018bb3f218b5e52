package outbox.testing;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
