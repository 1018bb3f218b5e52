-- Priorities. Events without one have NULL in both columns.
-- The generated column has no IN: H2 2.4.240 fails to compute it once the connection that added the column is closed.
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS priority SMALLINT;        -- 1 to 9, larger first; NULL: 0

-- The last column: where it is, the other one is there.
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS priority_slot SMALLINT
    GENERATED ALWAYS AS (CASE status WHEN 0 THEN priority WHEN 2 THEN priority END); -- while the event is unfinished

-- Serves the part of a claim that goes by priority.
CREATE INDEX IF NOT EXISTS ${prefix}_priority ON ${table} (priority_slot DESC, available_at);
