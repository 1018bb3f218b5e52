package outbox;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
