-- The number by which events of an aggregate are delivered in order. It comes from the database, by the insert: larger means later.
-- Positive: the event has a place in the order of its aggregate. An event that an operator skipped has its number with a minus sign: it has left the order.
-- Such a skip is recorded in ${schema}outbox_audit with the action SKIP, beside REPLAY and DISCARD.
-- Rewrites the table and locks it meanwhile. Events that are there already get their numbers in no order to rely on: let them be delivered before ordering is turned on.
CREATE SEQUENCE IF NOT EXISTS ${table}_numbers;
ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS seq BIGINT NOT NULL DEFAULT nextval('${table}_numbers');
ALTER SEQUENCE ${table}_numbers OWNED BY ${table}.seq;

-- Finds the nearest unfinished or dead event before a number, for each status in one step, however many events the aggregate has; history is not in it.
CREATE INDEX IF NOT EXISTS ${prefix}_order ON ${table} (aggregate_type, aggregate_id, status, seq) WHERE status <> 1;
