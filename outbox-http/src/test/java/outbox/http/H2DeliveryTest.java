package outbox.http;

import java.util.concurrent.atomic.AtomicInteger;

class H2DeliveryTest extends DeliveryContract {

    private static final AtomicInteger NUMBER = new AtomicInteger();

    @Override
    String newDatabase() {
        return "jdbc:h2:mem:http" + NUMBER.incrementAndGet() + ";DB_CLOSE_DELAY=-1";
    }
}
