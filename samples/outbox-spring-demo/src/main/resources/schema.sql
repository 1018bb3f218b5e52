CREATE TABLE orders (
    id       VARCHAR(36)  NOT NULL PRIMARY KEY,
    item     VARCHAR(200) NOT NULL,
    quantity INT          NOT NULL
);
