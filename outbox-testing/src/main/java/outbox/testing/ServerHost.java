package outbox.testing;

/** Where a server runs, and how much power over it we have. */
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
