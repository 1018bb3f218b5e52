package outbox.internal;

import org.jspecify.annotations.Nullable;
import outbox.spi.Claim;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Creates claim tokens in the form {@code owner/boot/counter}. The boot part is new for every instance. A node that
 * restarts under the same name therefore neither adopts nor overwrites the claims of its previous run.
 */
public final class ClaimTokens {

    public static final int MAX_OWNER_LENGTH = 80;

    private final String owner;
    private final String prefix;
    private final Scheduler scheduler;
    private final AtomicLong counter = new AtomicLong();

    public ClaimTokens(@Nullable String ownerId, Scheduler scheduler) {
        this.scheduler = scheduler;
        owner = ownerId != null ? ownerId : thisProcess();
        if (owner.isBlank()
                || owner.length() > MAX_OWNER_LENGTH
                || owner.chars().anyMatch(c -> c < ' ' || c > '~')) {
            throw new IllegalArgumentException("ownerId must have 1 to " + MAX_OWNER_LENGTH
                    + " printable ASCII characters: " + EventRules.show(owner));
        }
        this.prefix = owner + "/" + Ulid.next() + "/";
    }

    private static String thisProcess() {
        String host = System.getenv("HOSTNAME");
        String pid = "pid-" + ProcessHandle.current().pid();
        return host == null || !host.matches("[A-Za-z0-9.-]{1,60}") ? pid : host + ":" + pid;
    }

    /** Returns the name of the node that creates the tokens. */
    public String owner() {
        return owner;
    }

    public Claim next(Duration lease) {
        return startingNow(prefix + Long.toString(counter.incrementAndGet(), 36), lease);
    }

    /**
     * Returns a claim whose token stays the same for the lifetime of this instance. An event can be inserted under it
     * only once, so it still identifies a single claim of that event.
     */
    public Claim birth(Duration lease) {
        return startingNow(prefix + "0", lease);
    }

    /** Returns a claim with this token whose lease starts now. */
    public Claim startingNow(String token, Duration lease) {
        return new Claim(token, scheduler.nanoTime() + lease.toNanos());
    }
}
