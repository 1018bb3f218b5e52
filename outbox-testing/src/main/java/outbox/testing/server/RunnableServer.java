package outbox.testing.server;

/** The information that is needed to run a server program as a child process. */
interface RunnableServer {
    /** Returns the official name, for messages. */
    String title();

    /** Returns the name used in directories and threads. */
    String id();

    /** Returns a text that the server prints when it is ready to accept connections. */
    String readyText();

    /**
     * Asks a running server to stop without waiting for its clients. The caller kills the server if it does
     * not stop.
     */
    void stop(ProcessHandle server);
}
