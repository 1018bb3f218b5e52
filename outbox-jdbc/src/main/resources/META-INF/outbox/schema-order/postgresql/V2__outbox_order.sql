-- The number by which events of an aggregate are delivered in order. It comes from the database, by the insert: larger means later.
-- Positive: the event has a place in the order of its aggregate. An event that an operator skipped has its number with a minus sign: it has left the order.
-- Such a skip is recorded in outbox_audit with the action SKIP, beside REPLAY and DISCARD.
-- Rewrites the table and locks it meanwhile. Events that are there already get their numbers in no order to rely on: let them be delivered before ordering is turned on.
-- A sequence as the default, not an identity, because outbox_event_control has to share it.
CREATE SEQUENCE IF NOT EXISTS outbox_event_numbers;
ALTER TABLE outbox_event ADD COLUMN IF NOT EXISTS seq BIGINT NOT NULL DEFAULT nextval('outbox_event_numbers');
ALTER SEQUENCE outbox_event_numbers OWNED BY outbox_event.seq;

-- Finds the nearest unfinished or dead event before a number, for each status in one step, however many events the aggregate has; history is not in it.
CREATE INDEX IF NOT EXISTS outbox_event_order ON outbox_event (aggregate_type, aggregate_id, status, seq) WHERE status <> 1;

-- If there is delivery control, see V3__outbox_control.sql.
DO $$
BEGIN
    IF to_regclass('outbox_event_control') IS NOT NULL THEN
        CREATE INDEX IF NOT EXISTS outbox_event_control_order ON outbox_event_control (aggregate_type, aggregate_id, status, seq) WHERE status <> 1;
    END IF;
END $$;
