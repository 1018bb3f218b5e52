package outbox.spring;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
