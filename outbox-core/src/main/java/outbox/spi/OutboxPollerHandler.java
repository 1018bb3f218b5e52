package outbox.spi;

/**
 * The same as {@link outbox.poller.OutboxPollerHandler}, which the two texts of the specification have in different
 * packages. Code that imports either compiles, and a handler of this type is accepted wherever the other one is.
 */
@FunctionalInterface
public interface OutboxPollerHandler extends outbox.poller.OutboxPollerHandler {}
