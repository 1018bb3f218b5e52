package outbox.boot.orders;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** A sample application for tests. */
@SpringBootApplication
class OrdersApplication {}
