-- Who delivers the events of a table alone, and until when by the database's clock. Written by JdbcLeadership several times per term. All outbox tables of a schema share it.
-- PostgreSQL, MySQL and MariaDB need no such table: they have locks that end with their session.
CREATE TABLE IF NOT EXISTS ${schema}outbox_leader (
    outbox_table VARCHAR(128)                NOT NULL PRIMARY KEY, -- its name in lower case, without schema
    holder       VARCHAR(64)                 NOT NULL,             -- made up by the leader for this one leadership
    lease_until  TIMESTAMP(6) WITH TIME ZONE NOT NULL
);
