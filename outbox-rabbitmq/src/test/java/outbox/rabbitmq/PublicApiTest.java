package outbox.rabbitmq;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
