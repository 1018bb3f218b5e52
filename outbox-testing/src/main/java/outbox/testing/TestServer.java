package outbox.testing;

/** A server that goes with this JVM at the latest. */
abstract class TestServer implements AutoCloseable {
    /** Ends the server, be it shared or not. */
    abstract void stop();

    @Override
    public abstract void close();
}
