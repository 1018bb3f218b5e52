package outbox.testing.server;

import outbox.testing.internal.JdbcUrl;

/** A running server, with the operations that we can perform on its process. */
interface ServerHost extends AutoCloseable {
    JdbcUrl url();

    long pid();

    void kill();

    void restart();

    void freeze();

    void resume();

    @Override
    void close();
}
