package outbox.testing;

import org.jspecify.annotations.Nullable;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * Decides what a server that cannot be had means for the test that asked for it: a skip with the reason on a
 * developer's machine, a failure where every server is required, so that a green build means that all of them ran.
 */
final class Unavailable {
    static final String REQUIRED = "outbox.servers.required";

    private Unavailable() {}

    /** Returns the skip to throw, or throws the failure itself where servers are required. */
    static TestAbortedException because(Product product, String missing, String remedy) {
        return because(
                product.title(),
                missing,
                "%s, or set %s to the JDBC URL of a running server".formatted(remedy, product.urlVariable()));
    }

    /** The same for a server that cannot be given by its URL. */
    static TestAbortedException because(String title, String missing, String remedy) {
        var message = "No %s server for this test: %s. %s.".formatted(title, missing, remedy);
        if (required(System.getProperty(REQUIRED), System.getenv("CI"))) {
            throw new AssertionFailedError(message);
        }
        return new TestAbortedException(message);
    }

    /** The property decides if it is set, in either direction; otherwise {@code CI=true} does. */
    static boolean required(@Nullable String property, @Nullable String ci) {
        return Boolean.parseBoolean(property != null ? property : ci);
    }
}
