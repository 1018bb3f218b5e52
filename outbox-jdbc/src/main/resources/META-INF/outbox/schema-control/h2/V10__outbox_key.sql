-- The keys of events, for V3__outbox_control.sql: which event took a key last. The key is taken while that event is unfinished, or delivered and kept for dedup_ms. Nothing is written here
-- when an event ends; the purge deletes the keys of events that are gone. All outbox tables of a schema share it.
-- Stop the nodes that write keys before: those that ran before this migration keep their keys in outbox_event.
CREATE TABLE IF NOT EXISTS outbox_key (
    outbox_table VARCHAR(128) NOT NULL,              -- whose event it is: its name in lower case, without schema
    dedup_key    VARCHAR(128) NOT NULL,
    event_id     VARCHAR(36)  NOT NULL,              -- the event that took the key last
    PRIMARY KEY (outbox_table, dedup_key)
);

-- The keys of dead events, and then those that are taken.
MERGE INTO outbox_key (outbox_table, dedup_key, event_id) KEY (outbox_table, dedup_key)
    SELECT 'outbox_event', dedup_key, event_id FROM outbox_event
     WHERE dedup_key IS NOT NULL AND status = 3;
MERGE INTO outbox_key (outbox_table, dedup_key, event_id) KEY (outbox_table, dedup_key)
    SELECT 'outbox_event', dedup_key, event_id FROM outbox_event
     WHERE dedup_key IS NOT NULL AND (status IN (0, 2) OR status = 1 AND dedup_ms IS NOT NULL);

-- The last step, only where V3 was run before there was this table: the column of the keys that were taken. Its index goes with it.
ALTER TABLE outbox_event DROP COLUMN IF EXISTS dedup_slot;
