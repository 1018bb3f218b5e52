-- The keys of events, for V3__outbox_control.sql: which event took a key last. The key is taken while that event is unfinished, or delivered and kept for dedup_ms. Nothing is written here
-- when an event ends; the purge deletes the keys of events that are gone. All outbox tables of a schema share it.
-- Stop the nodes that write keys before: those that ran before this migration keep their keys in outbox_event_control.
CREATE TABLE IF NOT EXISTS outbox_key (
    outbox_table VARCHAR(128) NOT NULL,              -- whose event it is: its name in lower case, without schema
    dedup_key    VARCHAR(128) NOT NULL,
    event_id     VARCHAR(36)  NOT NULL,              -- the event that took the key last
    PRIMARY KEY (outbox_table, dedup_key)
);

-- The keys that are taken, and then those of dead events.
INSERT INTO outbox_key (outbox_table, dedup_key, event_id)
SELECT 'outbox_event', dedup_key, event_id FROM outbox_event
 WHERE dedup_key IS NOT NULL AND (status IN (0, 2) OR status = 1 AND dedup_ms IS NOT NULL)
    ON CONFLICT DO NOTHING;
INSERT INTO outbox_key (outbox_table, dedup_key, event_id)
SELECT 'outbox_event', dedup_key, event_id FROM outbox_event WHERE dedup_key IS NOT NULL AND status = 3
    ON CONFLICT DO NOTHING;

-- Of V3 as it was before. Events that have a key and use nothing else of delivery control are plain rows of outbox_event from now on.
DROP INDEX IF EXISTS outbox_event_control_key;
DROP INDEX IF EXISTS outbox_event_control_dead_key;
