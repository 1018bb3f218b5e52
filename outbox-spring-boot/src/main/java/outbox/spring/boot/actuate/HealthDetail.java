package outbox.spring.boot.actuate;

import java.util.Map;

/** An additional part of the health details. It does not change the status. */
interface HealthDetail {

    String name();

    /** Returns the details, without I/O. */
    Map<String, Object> details();
}
