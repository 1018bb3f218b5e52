package outbox.testing.server;

/** A server that is stopped at the end of this JVM at the latest. */
abstract class TestServer implements AutoCloseable {
    /** Stops the server, shared or not. */
    abstract void stop();

    @Override
    public abstract void close();
}
