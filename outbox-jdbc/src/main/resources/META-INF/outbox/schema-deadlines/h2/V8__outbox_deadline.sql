-- Deadlines. Events without one have NULL.
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS expires_at TIMESTAMP(6);  -- not started by then, the event is dead
CREATE INDEX IF NOT EXISTS ${prefix}_expiry ON ${table} (status, expires_at);
