package outbox.opentelemetry;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
