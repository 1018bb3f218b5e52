package outbox.spring.boot;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
