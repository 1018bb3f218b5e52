-- Delivery control: keys, deadlines and priorities. Events that use none of them have NULL in all columns and no entry in these indexes. Their INSERT
-- still prepares the condition of each index, so the conditions are as short as can be.
-- Adding the columns takes a short lock and rewrites nothing. The indexes are empty at first, but reading the table for them keeps writers out meanwhile.
ALTER TABLE outbox_event
    ADD COLUMN IF NOT EXISTS dedup_key  VARCHAR(128), -- of unfinished events, at most one has it
    ADD COLUMN IF NOT EXISTS dedup_ms   BIGINT,       -- how long a delivered event keeps its key, in milliseconds from done_at; NULL: not at all
    ADD COLUMN IF NOT EXISTS priority   SMALLINT,     -- 1 to 9, larger first; NULL: 0
    ADD COLUMN IF NOT EXISTS expires_at TIMESTAMPTZ;  -- not started by then, the event is dead

-- Who has a key. A delivered event that keeps its key stays here until somebody asks for the key after its time.
CREATE UNIQUE INDEX IF NOT EXISTS outbox_event_key ON outbox_event (dedup_key)
    WHERE dedup_key IS NOT NULL AND (status IN (0, 2) OR status = 1 AND dedup_ms IS NOT NULL);

-- Who died with a key. The few dead ones without a key are in it too, for the sake of a short condition.
CREATE INDEX IF NOT EXISTS outbox_event_dead_key ON outbox_event (dedup_key)
    WHERE status = 3;

-- Serves the part of a claim that goes by priority.
CREATE INDEX IF NOT EXISTS outbox_event_priority ON outbox_event (priority DESC, available_at)
    WHERE priority IS NOT NULL AND status IN (0, 2);

CREATE INDEX IF NOT EXISTS outbox_event_expiry ON outbox_event (status, expires_at)
    WHERE expires_at IS NOT NULL;
