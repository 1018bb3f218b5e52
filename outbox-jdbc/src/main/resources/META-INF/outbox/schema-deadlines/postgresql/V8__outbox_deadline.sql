-- Deadlines. Events without one have NULL. Adding the column takes a short lock and rewrites nothing.
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS expires_at TIMESTAMPTZ; -- not started by then, the event is dead

-- Finds events whose deadline has passed, and holds unfinished events with a deadline only.
CREATE INDEX IF NOT EXISTS ${prefix}_expiry ON ${table} (status, expires_at)
    WHERE expires_at IS NOT NULL AND status IN (0, 2);
