ALTER TABLE <module>_outbox
  ADD COLUMN traceparent TEXT NULL,
  ADD COLUMN tracestate  TEXT NULL;
