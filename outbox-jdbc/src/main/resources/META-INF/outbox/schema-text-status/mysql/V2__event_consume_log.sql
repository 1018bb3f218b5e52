-- The log of consumers beside ${events}: an event is handled by one consumer, once. Times are UTC.
CREATE TABLE IF NOT EXISTS ${consume_log} (
    id           BIGINT      NOT NULL AUTO_INCREMENT PRIMARY KEY,
    event_id     VARCHAR(64) NOT NULL UNIQUE,
    event_type   VARCHAR(64) NOT NULL,
    consumer     VARCHAR(64) NOT NULL,
    consume_time DATETIME    NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
