-- Priorities. Events without one have NULL in both columns. The index serves the part of a claim that goes by priority.
-- Rebuilds the table and blocks writers while it runs. One statement, so that no column is there without its index.
ALTER TABLE ${table}
    ADD COLUMN priority SMALLINT DEFAULT NULL,         -- 1 to 9, larger first; NULL: 0
    ADD COLUMN priority_slot SMALLINT
        GENERATED ALWAYS AS (CASE WHEN status IN (0, 2) THEN priority END) STORED, -- while the event is unfinished
    ADD INDEX ${prefix}_priority (priority_slot DESC, available_at);
