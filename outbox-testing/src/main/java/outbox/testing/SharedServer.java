package outbox.testing;

import org.jspecify.annotations.Nullable;

import java.util.function.Function;
import java.util.function.Supplier;

/** The one server of a product that all tests of this JVM share: given by its URL, or else started on first use. */
final class SharedServer<S extends DatabaseServer> {
    private final Product product;
    private final Supplier<ServerHost> start;
    private final Function<ServerHost, S> server;
    private @Nullable S running; // guarded by this
    private @Nullable RuntimeException refusal; // guarded by this
    private @Nullable Error failure; // guarded by this

    SharedServer(Product product, Supplier<ServerHost> start, Function<ServerHost, S> server) {
        this.product = product;
        this.start = start;
        this.server = server;
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
            var given = product.givenUrl().<ServerHost>map(url -> new GivenServer(product, url));
            return server.apply(given.orElseGet(start));
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
