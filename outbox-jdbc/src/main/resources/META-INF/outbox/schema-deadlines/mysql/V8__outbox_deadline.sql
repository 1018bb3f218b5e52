-- Deadlines. Events without one have NULL. One statement, so that the column is never there without its index.
ALTER TABLE ${table}
    ADD COLUMN expires_at DATETIME(6) DEFAULT NULL,    -- not started by then, the event is dead
    ADD INDEX ${prefix}_expiry (status, expires_at);
