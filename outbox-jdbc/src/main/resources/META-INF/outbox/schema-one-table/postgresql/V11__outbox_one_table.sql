-- Only for tables that an earlier version gave a second one, ${table}_control, which inherits from ${table}
-- (ADR 66). Moves its rows to ${table}, with ids, order numbers and claims, and drops it. Does nothing elsewhere.
--
-- Stop all nodes of the earlier version first. What they do with the dropped table fails: writes of events with a
-- priority or a deadline, claims in a backlog, and the search for events past their deadline. Nothing is lost. Nodes of
-- this version may run. A tool that captures changes sees each moved row as deleted and inserted again.
DO $$
DECLARE
    names TEXT;
    twice TEXT;
    expected BIGINT;
    moved BIGINT;
BEGIN
    IF to_regclass('${table}_control') IS NULL THEN
        RETURN;
    END IF;
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'Run this at READ COMMITTED: a snapshot from before the lock would miss rows.';
    END IF;
    SET LOCAL lock_timeout = '10s'; -- writers and claims wait behind this lock request; run it again if it gives up
    SET LOCAL row_security = off; -- a policy that hides rows raises an error, instead of losing them
    LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE;
    IF NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = to_regclass('${table}')
                                             AND inhrelid = to_regclass('${table}_control')) THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM pg_index
                WHERE indrelid = to_regclass('${table}_control') AND indisunique AND NOT indisprimary) THEN
        RAISE EXCEPTION 'The keys of ${table} are still in an index. Run V10__outbox_key.sql first.';
    END IF;
    SELECT string_agg(c.event_id, ', ') INTO twice
      FROM ONLY ${table}_control c
      JOIN ONLY ${table} e ON e.event_id = c.event_id;
    IF twice IS NOT NULL THEN
        RAISE EXCEPTION 'These ids are in ${table} and in ${table}_control: %. '
            'Give one of the two events another id, then run this again.', twice;
    END IF;
    SELECT string_agg(quote_ident(attname), ', ') INTO names
      FROM pg_attribute
     WHERE attrelid = to_regclass('${table}') AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
    SELECT count(*) INTO expected FROM ONLY ${table}_control;
    EXECUTE format('INSERT INTO ${table} (%1$s) SELECT %1$s FROM ONLY ${table}_control', names);
    GET DIAGNOSTICS moved = ROW_COUNT;
    IF moved <> expected THEN
        RAISE EXCEPTION 'Only % of % rows of ${table}_control could be moved: a trigger of ${table} refuses some.',
            moved, expected;
    END IF;
    DROP TABLE ${table}_control;

    -- Of the priorities and deadlines that such a table has.
    CREATE INDEX IF NOT EXISTS ${prefix}_priority ON ${table} (priority DESC, available_at)
        WHERE priority IS NOT NULL AND status IN (0, 2);
    CREATE INDEX IF NOT EXISTS ${prefix}_expiry ON ${table} (status, expires_at)
        WHERE expires_at IS NOT NULL AND status IN (0, 2);
END $$;
