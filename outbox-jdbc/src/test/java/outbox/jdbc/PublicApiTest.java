package outbox.jdbc;

import outbox.rules.PublicApi;

class PublicApiTest extends PublicApi {}
