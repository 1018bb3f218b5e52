-- Delivery control: keys, deadlines and priorities. Keys also need V10__outbox_key.sql.

-- Events that have a priority or a deadline are inserted here. They are rows of outbox_event all the same: whatever reads, changes or deletes events there finds them. The indexes below are thus
-- no burden to the INSERT of other events, which would open each of them, though it adds to none. The table comes before its columns: who sees those sees it too.
CREATE TABLE IF NOT EXISTS outbox_event_control (PRIMARY KEY (event_id)) INHERITS (outbox_event);

-- Only where the columns were there before this table. Nodes that run meanwhile go on as before, so restart them.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'outbox_event'::regclass AND attname = 'expires_at') THEN
        WITH moved AS (
            DELETE FROM ONLY outbox_event
             WHERE priority IS NOT NULL OR expires_at IS NOT NULL
            RETURNING *
        )
        INSERT INTO outbox_event_control SELECT * FROM moved;
    END IF;
END $$;

-- All four are NULL in events that use nothing. Adding them takes a short lock and rewrites nothing.
ALTER TABLE outbox_event
    ADD COLUMN IF NOT EXISTS dedup_key  VARCHAR(128), -- of unfinished events, at most one has it, see V10__outbox_key.sql
    ADD COLUMN IF NOT EXISTS dedup_ms   BIGINT,       -- how long a delivered event keeps its key, in milliseconds from done_at; NULL: not at all
    ADD COLUMN IF NOT EXISTS priority   SMALLINT,     -- 1 to 9, larger first; NULL: 0
    ADD COLUMN IF NOT EXISTS expires_at TIMESTAMPTZ;  -- not started by then, the event is dead

CREATE INDEX IF NOT EXISTS outbox_event_control_due ON outbox_event_control (available_at, created_at) WHERE status IN (0, 2);

-- Serves the part of a claim that goes by priority.
CREATE INDEX IF NOT EXISTS outbox_event_control_priority ON outbox_event_control (priority DESC, available_at)
    WHERE priority IS NOT NULL AND status IN (0, 2);

CREATE INDEX IF NOT EXISTS outbox_event_control_expiry ON outbox_event_control (status, expires_at)
    WHERE expires_at IS NOT NULL AND status IN (0, 2);

-- If there is an order, see V2__outbox_order.sql.
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'outbox_event'::regclass AND attname = 'seq') THEN
        CREATE INDEX IF NOT EXISTS outbox_event_control_order ON outbox_event_control (aggregate_type, aggregate_id, status, seq) WHERE status <> 1;
    END IF;
END $$;
