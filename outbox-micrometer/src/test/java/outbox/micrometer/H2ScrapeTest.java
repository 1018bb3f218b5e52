package outbox.micrometer;

import java.util.UUID;

class H2ScrapeTest extends ScrapeContract {

    @Override
    String newDatabase() {
        return "jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1";
    }
}
