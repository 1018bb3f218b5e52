package outbox.testing.contract;

import outbox.Experimental;

/**
 * Contract tests for every event store. A store passes by extending this class and supplying its table. Override
 * {@link #keepsTextVerbatim()}, {@link #keepsOccurredAt()} or {@link #keepsBytes()} if the table cannot keep a
 * value; the contract then checks what happens instead.
 */
@Experimental
public abstract class EventStoreContract extends MarkContract {}
