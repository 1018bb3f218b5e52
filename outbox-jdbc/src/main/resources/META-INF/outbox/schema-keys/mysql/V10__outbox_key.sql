-- Keys of events. Events without a key have NULL in both columns:
-- dedup_key: at most one unfinished event has it
-- dedup_ms: how long a delivered event keeps its key, in milliseconds from done_at; NULL: not at all
SET @outbox_ddl = IF((SELECT COUNT(*) FROM information_schema.columns
                       WHERE column_name = 'dedup_ms'
                         AND (table_schema = DATABASE() AND table_name = '${table}'
                              OR CONCAT(table_schema, '.', table_name) = '${table}')) > 0,
                     'DO 0',
                     'ALTER TABLE ${table}
                          ADD COLUMN dedup_key VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
                          ADD COLUMN dedup_ms  BIGINT DEFAULT NULL');
PREPARE outbox_ddl FROM @outbox_ddl;
EXECUTE outbox_ddl;
DEALLOCATE PREPARE outbox_ddl;

-- Which event took a key last. The key is taken while that event is unfinished, or delivered and kept for dedup_ms.
-- Nothing is written here when an event ends; the purge deletes the keys of events that are gone. All outbox tables of
-- a schema share it.
-- The key of a row decides its slot. A writer locks the first row of the slot, which has no key, before any other row
-- of it. So two writers never hold locks in one slot, and a lock on the gap between two keys blocks no insert (ADR 49).
CREATE TABLE IF NOT EXISTS ${schema}outbox_key (
    slot         SMALLINT     NOT NULL,              -- CRC32 of the key, modulo 1024
    outbox_table VARCHAR(128) NOT NULL,              -- whose event it is: its name in lower case, without schema
    dedup_key    VARCHAR(128) NOT NULL,
    event_id     VARCHAR(36)  NOT NULL,              -- the event that took the key last
    PRIMARY KEY (slot, outbox_table, dedup_key)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The first row of each slot.
INSERT IGNORE INTO ${schema}outbox_key (slot, outbox_table, dedup_key, event_id)
WITH digit (n) AS (SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3)
SELECT a.n + 4 * b.n + 16 * c.n + 64 * d.n + 256 * e.n, '', '', ''
  FROM digit a CROSS JOIN digit b CROSS JOIN digit c CROSS JOIN digit d CROSS JOIN digit e;

-- The rest is for tables whose keys were in a column dedup_slot. Stop the nodes that write keys before.
-- The keys that are taken, and then those of dead events.
INSERT IGNORE INTO ${schema}outbox_key (slot, outbox_table, dedup_key, event_id)
SELECT CRC32(dedup_key) % 1024, '${owner}', dedup_key, event_id
  FROM ${table}
 WHERE dedup_key IS NOT NULL AND (status IN (0, 2) OR status = 1 AND dedup_ms IS NOT NULL);
INSERT IGNORE INTO ${schema}outbox_key (slot, outbox_table, dedup_key, event_id)
SELECT CRC32(dedup_key) % 1024, '${owner}', dedup_key, event_id
  FROM ${table}
 WHERE dedup_key IS NOT NULL AND status = 3;

-- The last step; the index of the column goes with it.
SET @outbox_ddl = IF((SELECT COUNT(*) FROM information_schema.columns
                       WHERE column_name = 'dedup_slot'
                         AND (table_schema = DATABASE() AND table_name = '${table}'
                              OR CONCAT(table_schema, '.', table_name) = '${table}')) > 0,
                     'ALTER TABLE ${table} DROP COLUMN dedup_slot', 'DO 0');
PREPARE outbox_ddl FROM @outbox_ddl;
EXECUTE outbox_ddl;
DEALLOCATE PREPARE outbox_ddl;
