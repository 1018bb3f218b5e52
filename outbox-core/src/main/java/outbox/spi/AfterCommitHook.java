package outbox.spi;

/**
 * The same as {@link outbox.AfterCommitHook}. Two texts of the specification place the interface in different
 * packages. Code that imports either one compiles, and a hook of this type is accepted wherever the other one is.
 */
@FunctionalInterface
public interface AfterCommitHook extends outbox.AfterCommitHook {

    /** Does nothing. A poller or change data capture delivers the events. */
    AfterCommitHook NOOP = event -> {};
}
