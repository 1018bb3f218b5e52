-- The business tables; outbox_events and event_consume_log come with the library. Times are UTC, in whole seconds.
CREATE TABLE IF NOT EXISTS products (
    id          BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    seller_id   BIGINT         NOT NULL,
    title       VARCHAR(200)   NOT NULL,
    price       DECIMAL(10, 2) NOT NULL,
    status      VARCHAR(16)    NOT NULL, -- on_sale, sold
    create_time DATETIME       NOT NULL,
    update_time DATETIME       NOT NULL
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS orders (
    id            BIGINT         NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_no      VARCHAR(32)    NULL UNIQUE, -- made from the id, so it comes with the second statement
    product_id    BIGINT         NOT NULL,
    buyer_id      BIGINT         NOT NULL,
    seller_id     BIGINT         NOT NULL,
    total_amount  DECIMAL(10, 2) NOT NULL,
    status        VARCHAR(16)    NOT NULL,    -- pending, paid, shipped, completed, cancelled
    cancel_reason VARCHAR(16)    NULL,        -- timeout, buyer
    create_time   DATETIME       NOT NULL,
    pay_time      DATETIME       NULL,
    update_time   DATETIME       NOT NULL,
    INDEX idx_orders_pending (status, create_time),
    INDEX idx_orders_buyer (buyer_id, status)
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS buyer_credit (
    buyer_id         BIGINT   NOT NULL PRIMARY KEY,
    cancelled_orders BIGINT   NOT NULL,
    update_time      DATETIME NOT NULL
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS inventory_view (
    product_id    BIGINT      NOT NULL PRIMARY KEY,
    status        VARCHAR(16) NOT NULL,
    times_ordered INT         NOT NULL,
    update_time   DATETIME    NOT NULL
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS shipments (
    order_id    BIGINT   NOT NULL PRIMARY KEY,
    create_time DATETIME NOT NULL
) DEFAULT CHARSET = utf8mb4;

CREATE TABLE IF NOT EXISTS notifications (
    id          BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
    order_id    BIGINT       NOT NULL,
    user_id     BIGINT       NOT NULL,
    text        VARCHAR(200) NOT NULL,
    create_time DATETIME     NOT NULL,
    INDEX idx_notifications_order (order_id)
) DEFAULT CHARSET = utf8mb4;
