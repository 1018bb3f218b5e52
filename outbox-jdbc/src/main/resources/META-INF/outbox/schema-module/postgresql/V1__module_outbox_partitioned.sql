-- The module outbox in partitions by the day of the insert, so that old days are dropped instead of deleted row by row.
-- A unique key must contain the time here, so the table alone does not keep an event_id from coming twice: OutboxPublisher does.
CREATE TABLE <module>_outbox (
  id           UUID        NOT NULL DEFAULT gen_random_uuid(),
  tenant_id    UUID        NOT NULL,
  topic        TEXT        NOT NULL,
  payload      JSONB       NOT NULL,
  event_id     UUID        NOT NULL,
  sequence     BIGSERIAL   NOT NULL,
  created_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
  published_at TIMESTAMPTZ NULL,
  attempts     INT         NOT NULL DEFAULT 0,
  available_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  locked_at    TIMESTAMPTZ NULL,
  last_error   TEXT        NULL,

  CONSTRAINT <module>_outbox_pkey PRIMARY KEY (id, created_at),
  CONSTRAINT <module>_outbox_event_id_key UNIQUE (event_id, created_at),
  CONSTRAINT <module>_outbox_attempts_nonnegative CHECK (attempts >= 0)
) PARTITION BY RANGE (created_at);

CREATE INDEX <module>_outbox_pending_by_available
  ON <module>_outbox (available_at, sequence)
  WHERE published_at IS NULL;

CREATE INDEX <module>_outbox_published_by_time
  ON <module>_outbox (published_at, sequence)
  WHERE published_at IS NOT NULL;

CREATE INDEX <module>_outbox_tenant_published
  ON <module>_outbox (tenant_id, published_at, sequence);

-- For days that nobody made a partition for: writers must not fail.
CREATE TABLE <schema><module>_outbox_rest PARTITION OF <module>_outbox DEFAULT;
