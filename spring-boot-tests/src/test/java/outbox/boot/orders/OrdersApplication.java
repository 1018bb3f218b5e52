package outbox.boot.orders;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** An application as users test theirs. */
@SpringBootApplication
class OrdersApplication {}
