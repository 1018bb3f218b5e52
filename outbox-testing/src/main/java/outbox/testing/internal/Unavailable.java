package outbox.testing.internal;

import org.jspecify.annotations.Nullable;
import org.opentest4j.AssertionFailedError;
import org.opentest4j.TestAbortedException;

/**
 * Decides what happens to a test when its server is not available. On a developer's machine the test is skipped,
 * with the reason. If servers are required, it fails, so that a green build means that all servers were tested.
 */
public final class Unavailable {
    static final String REQUIRED = "outbox.servers.required";

    private Unavailable() {}

    /** Returns the exception that skips the test. Throws a failure instead if servers are required. */
    public static TestAbortedException because(String title, String missing, String remedy) {
        var message = "No %s server for this test: %s. %s.".formatted(title, missing, remedy);
        if (required(System.getProperty(REQUIRED), System.getenv("CI"))) {
            throw new AssertionFailedError(message);
        }
        return new TestAbortedException(message);
    }

    /**
     * Returns whether servers are required. The property has priority if it is set; otherwise
     * {@code CI=true} decides.
     */
    static boolean required(@Nullable String property, @Nullable String ci) {
        return Boolean.parseBoolean(property != null ? property : ci);
    }
}
