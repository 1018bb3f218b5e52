package outbox.testing.internal;

import org.jspecify.annotations.Nullable;
import org.opentest4j.AssertionFailedError;

import java.util.List;

/**
 * The JUnit tags whose tests this run excludes, as {@code ./verify --fast} names them: {@code mariadb,process}. A
 * test without the tag fails if it starts such a server or a process. Otherwise it would only make the run slow, and
 * the reason would be hard to find.
 */
public final class ExcludedTags {
    private static final String EXCLUDED = "outbox.servers.excluded";

    private ExcludedTags() {}

    /** Fails if this run excludes tests with this tag. */
    public static void check(String tag) {
        check(tag, System.getProperty(EXCLUDED));
    }

    static void check(String tag, @Nullable String excluded) {
        if (excluded != null && List.of(excluded.split(",")).contains(tag)) {
            throw new AssertionFailedError(
                    "This run leaves out tests with the tag %s, but this one has no such tag. Add @Tag(\"%s\")."
                            .formatted(tag, tag));
        }
    }
}
