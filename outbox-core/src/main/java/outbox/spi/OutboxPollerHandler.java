package outbox.spi;

/**
 * The same as {@link outbox.poller.OutboxPollerHandler}. Two texts of the specification place the interface in
 * different packages. Code that imports either one compiles, and a handler of this type is accepted wherever the
 * other one is.
 */
@FunctionalInterface
public interface OutboxPollerHandler extends outbox.poller.OutboxPollerHandler {}
