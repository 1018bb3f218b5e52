package outbox.spi;

/**
 * The same as {@link outbox.AfterCommitHook}, which the two texts of the specification have in different packages.
 * Code that imports either compiles, and a hook of this type is accepted wherever the other one is.
 */
@FunctionalInterface
public interface AfterCommitHook extends outbox.AfterCommitHook {

    /** Does nothing: events are left to the poller or to change data capture. */
    AfterCommitHook NOOP = event -> {};
}
