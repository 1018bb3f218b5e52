-- The number by which events of an aggregate are delivered in order. It comes from the database, by the insert: larger means later.
-- Positive: the event has a place in the order of its aggregate. An event that an operator skipped has its number with a minus sign: it has left the order.
-- Such a skip is recorded in ${schema}outbox_audit with the action SKIP, beside REPLAY and DISCARD.
-- Rebuilds the table and keeps writers out meanwhile. Events that are there already are numbered by event_id: let them be delivered before ordering is turned on.
-- One statement, so that the column is never there without its indexes. The second index finds the nearest unfinished or dead event before a number, for each status in one step.
ALTER TABLE ${table}
    ADD COLUMN seq BIGINT NOT NULL AUTO_INCREMENT,
    ADD INDEX ${prefix}_seq (seq),                                               -- AUTO_INCREMENT needs a key
    ADD INDEX ${prefix}_order (aggregate_type, aggregate_id, status, seq);
