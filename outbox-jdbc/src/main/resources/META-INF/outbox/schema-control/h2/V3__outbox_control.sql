-- Delivery control: keys, deadlines and priorities. Keys also need V10__outbox_key.sql. Events that use none of them have NULL in all columns.
-- The generated column has no IN: H2 2.4.240 fails to compute it once the connection that added the column is closed.
ALTER TABLE outbox_event ADD COLUMN IF NOT EXISTS dedup_key VARCHAR(128);   -- of unfinished events, at most one has it, see V10__outbox_key.sql
ALTER TABLE outbox_event ADD COLUMN IF NOT EXISTS dedup_ms BIGINT;          -- how long a delivered event keeps its key, in milliseconds from done_at; NULL: not at all

ALTER TABLE outbox_event ADD COLUMN IF NOT EXISTS priority SMALLINT;        -- 1 to 9, larger first; NULL: 0
ALTER TABLE outbox_event ADD COLUMN IF NOT EXISTS priority_slot SMALLINT
    GENERATED ALWAYS AS (CASE status WHEN 0 THEN priority WHEN 2 THEN priority END); -- the priority while the event is unfinished
CREATE INDEX IF NOT EXISTS outbox_event_priority ON outbox_event (priority_slot DESC, available_at); -- serves the part of a claim that goes by priority

-- The last column: where it is, all of the above is there.
ALTER TABLE outbox_event ADD COLUMN IF NOT EXISTS expires_at TIMESTAMP(6);  -- not started by then, the event is dead
CREATE INDEX IF NOT EXISTS outbox_event_expiry ON outbox_event (status, expires_at);
