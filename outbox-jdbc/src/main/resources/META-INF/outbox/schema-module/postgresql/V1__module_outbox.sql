CREATE TABLE <module>_outbox (
  id           UUID        NOT NULL DEFAULT gen_random_uuid(),
  tenant_id    UUID        NOT NULL,
  topic        TEXT        NOT NULL,
  payload      JSONB       NOT NULL,
  event_id     UUID        NOT NULL, -- 幂等键（业务侧生成，消费者以此去重）
  sequence     BIGSERIAL   NOT NULL, -- 有序游标（用于 claim 顺序与游标化排障）
  created_at   TIMESTAMPTZ NOT NULL DEFAULT now(),
  published_at TIMESTAMPTZ NULL,
  attempts     INT         NOT NULL DEFAULT 0,
  available_at TIMESTAMPTZ NOT NULL DEFAULT now(),
  locked_at    TIMESTAMPTZ NULL,
  last_error   TEXT        NULL,

  CONSTRAINT <module>_outbox_pkey PRIMARY KEY (id),
  CONSTRAINT <module>_outbox_event_id_key UNIQUE (event_id),
  CONSTRAINT <module>_outbox_attempts_nonnegative CHECK (attempts >= 0)
);

-- pending claim：按可用时间 + sequence 取最早事件
CREATE INDEX <module>_outbox_pending_by_available
  ON <module>_outbox (available_at, sequence)
  WHERE published_at IS NULL;

-- cleaner：按 published_at 清理历史记录
CREATE INDEX <module>_outbox_published_by_time
  ON <module>_outbox (published_at, sequence)
  WHERE published_at IS NOT NULL;

-- 观测/排障：按 tenant 定位积压
CREATE INDEX <module>_outbox_tenant_published
  ON <module>_outbox (tenant_id, published_at, sequence);
