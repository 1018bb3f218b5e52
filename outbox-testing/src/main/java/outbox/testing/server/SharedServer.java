package outbox.testing.server;

import org.jspecify.annotations.Nullable;

import java.util.function.Supplier;

/** A server that all tests of this JVM share. The first use starts it. */
final class SharedServer<S extends TestServer> {
    private final Supplier<S> start;
    private @Nullable S running; // guarded by this
    private @Nullable RuntimeException refusal; // guarded by this
    private @Nullable Error failure; // guarded by this

    SharedServer(Supplier<S> start) {
        this.start = start;
    }

    /**
     * Returns the server, and starts it if needed. If the start failed once, every call throws the same exception.
     * Otherwise each test would wait for another failing start.
     */
    synchronized S get() {
        if (refusal != null) {
            throw refusal;
        }
        if (failure != null) {
            throw failure;
        }
        if (running == null) {
            running = OpenServers.add(start());
        }
        return running;
    }

    private S start() {
        try {
            return start.get();
        } catch (RuntimeException e) {
            if (!(e.getCause() instanceof InterruptedException)) { // an interrupt concerns one test, not the server
                refusal = e;
            }
            throw e;
        } catch (Error e) {
            failure = e;
            throw e;
        }
    }
}
