-- Keys of events. Events without a key have NULL in both columns:
-- dedup_key: at most one unfinished event has it
-- dedup_ms: how long a delivered event keeps its key, in milliseconds from done_at; NULL: not at all
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS dedup_key VARCHAR(128);
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS dedup_ms BIGINT;

-- Which event took a key last. The key is taken while that event is unfinished, or delivered and kept for dedup_ms.
-- Nothing is written here when an event ends; the purge deletes the keys of events that are gone. All outbox tables of
-- a schema share it.
CREATE TABLE IF NOT EXISTS ${schema}outbox_key (
    outbox_table VARCHAR(128) NOT NULL,              -- whose event it is: its name in lower case, without schema
    dedup_key    VARCHAR(128) NOT NULL,
    event_id     VARCHAR(36)  NOT NULL,              -- the event that took the key last
    PRIMARY KEY (outbox_table, dedup_key)
);

-- The rest is for tables whose keys were in a column dedup_slot. Stop the nodes that write keys before.
-- The keys of dead events, and then those that are taken.
MERGE INTO ${schema}outbox_key (outbox_table, dedup_key, event_id) KEY (outbox_table, dedup_key)
    SELECT '${owner}', dedup_key, event_id FROM ${table}
     WHERE dedup_key IS NOT NULL AND status = 3;
MERGE INTO ${schema}outbox_key (outbox_table, dedup_key, event_id) KEY (outbox_table, dedup_key)
    SELECT '${owner}', dedup_key, event_id FROM ${table}
     WHERE dedup_key IS NOT NULL AND (status IN (0, 2) OR status = 1 AND dedup_ms IS NOT NULL);

-- The last step; the index of the column goes with it.
ALTER TABLE ${table} DROP COLUMN IF EXISTS dedup_slot;
