package outbox.testing;

import org.jspecify.annotations.Nullable;

import java.util.function.Supplier;

/** The one server of its kind that all tests of this JVM share, started on first use. */
final class SharedServer<S extends TestServer> {
    private final Supplier<S> start;
    private @Nullable S running; // guarded by this
    private @Nullable RuntimeException refusal; // guarded by this
    private @Nullable Error failure; // guarded by this

    SharedServer(Supplier<S> start) {
        this.start = start;
    }

    /** What failed once fails again with the same reason, rather than after another long wait for each test. */
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
            if (!(e.getCause() instanceof InterruptedException)) { // that was about one test, not about the server
                refusal = e;
            }
            throw e;
        } catch (Error e) {
            failure = e;
            throw e;
        }
    }
}
