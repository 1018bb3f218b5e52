package outbox.micrometer;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
