package outbox.http;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
