package outbox.spring.boot;

import java.util.Map;

/** Something that health shows besides the outboxes, and that does not change the status. */
interface HealthDetail {

    String name();

    /** Without I/O. */
    Map<String, Object> details();
}
