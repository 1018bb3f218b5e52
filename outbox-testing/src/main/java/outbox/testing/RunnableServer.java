package outbox.testing;

/** What has to be known of a server program to run it as a child process. */
interface RunnableServer {
    /** The name as its makers write it, for messages. */
    String title();

    /** The name in directories and threads. */
    String id();

    /** What the server prints once it takes connections. */
    String readyText();

    /** Tells a running server to go without waiting for its clients; whoever calls kills it if it does not. */
    void stop(ProcessHandle server);
}
