-- With how many attempts an event is dead, for tables that have no status: one row per outbox table of this schema.
-- The first relay of a table writes its limit. Relays and commands with another limit are refused. To change it:
-- outbox schema apply --table <module>_outbox --max-attempts N
CREATE TABLE IF NOT EXISTS <schema>outbox_attempt_limit (
  table_name   VARCHAR(63) NOT NULL,
  max_attempts INT         NOT NULL,
  set_at       TIMESTAMPTZ NOT NULL DEFAULT now(),

  CONSTRAINT outbox_attempt_limit_pkey PRIMARY KEY (table_name),
  CONSTRAINT outbox_attempt_limit_positive CHECK (max_attempts > 0)
);
