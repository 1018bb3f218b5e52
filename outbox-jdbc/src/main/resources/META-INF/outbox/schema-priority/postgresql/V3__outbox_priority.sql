-- Priorities. Events without one have NULL. Adding the column takes a short lock and rewrites nothing.
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS priority SMALLINT; -- 1 to 9, larger first; NULL: 0

-- Serves the part of a claim that goes by priority, and holds unfinished events with a priority only.
CREATE INDEX IF NOT EXISTS ${prefix}_priority ON ${table} (priority DESC, available_at)
    WHERE priority IS NOT NULL AND status IN (0, 2);
