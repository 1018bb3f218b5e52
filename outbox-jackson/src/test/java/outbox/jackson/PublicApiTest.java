package outbox.jackson;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
