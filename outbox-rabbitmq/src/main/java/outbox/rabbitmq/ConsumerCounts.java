package outbox.rabbitmq;

import java.util.concurrent.atomic.LongAdder;

/** The counters of a consumer. Thread-safe. */
final class ConsumerCounts {

    final LongAdder handled = new LongAdder();
    final LongAdder duplicates = new LongAdder();
    final LongAdder redelivered = new LongAdder();
    final LongAdder putOff = new LongAdder();
    final LongAdder deadLettered = new LongAdder();
}
