-- Delivery control: keys, deadlines and priorities. Keys also need V10__outbox_key.sql. Events that use none of them have NULL in all columns.
-- Rebuilds the table and keeps writers out meanwhile. One statement, so that no column is ever there without its index.
ALTER TABLE outbox_event
    ADD COLUMN dedup_key  VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL, -- of unfinished events, at most one has it, see V10__outbox_key.sql
    ADD COLUMN dedup_ms   BIGINT       DEFAULT NULL,   -- how long a delivered event keeps its key, in milliseconds from done_at; NULL: not at all
    ADD COLUMN priority   SMALLINT     DEFAULT NULL,   -- 1 to 9, larger first; NULL: 0
    ADD COLUMN expires_at DATETIME(6)  DEFAULT NULL,   -- not started by then, the event is dead
    ADD COLUMN priority_slot SMALLINT
        GENERATED ALWAYS AS (CASE WHEN status IN (0, 2) THEN priority END) STORED, -- the priority while the event is unfinished
    ADD INDEX outbox_event_priority (priority_slot DESC, available_at), -- serves the part of a claim that goes by priority
    ADD INDEX outbox_event_expiry (status, expires_at);
