package outbox.jackson3;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
