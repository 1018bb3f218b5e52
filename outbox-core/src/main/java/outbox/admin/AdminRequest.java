package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.internal.EventRules;
import outbox.internal.Ulid;
import outbox.model.EventStatus;
import outbox.spi.Replay;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * A wish to change dead events, to replay delivered ones, or to deliver waiting ones sooner: which ones, who wants
 * it, and why. Only looks until it is confirmed. Immutable.
 *
 * <p>The request id makes it happen once. To do what a dry run showed, build the same request again with {@link Builder#confirmed}; to ask again after a failure, keep the id.
 */
public final class AdminRequest {

    /** How many events a request changes if no cap is given. */
    public static final int DEFAULT_CAP = 1000;

    /** Largest cap. */
    public static final int MAX_CAP = 100_000;

    public static final int MAX_ACTOR_LENGTH = 128;
    public static final int MAX_REASON_LENGTH = 1000;

    /** Largest rate of a replay. */
    public static final int MAX_EVENTS_PER_SECOND = 100_000;

    private static final long MICROS_PER_SECOND = 1_000_000;

    private final EventFilter filter;
    private final String actor;
    private final String reason;
    private final String requestId;
    private final int cap;
    private final boolean confirmed;
    private final @Nullable String listener;
    private final int eventsPerSecond; // 0: no limit
    private final @Nullable String errorFingerprint;
    private final boolean continuing;
    private final BooleanSupplier stopWhen;

    private AdminRequest(Builder builder) {
        filter = required("filter", builder.filter);
        actor = required("actor", builder.actor);
        reason = required("reason", builder.reason);
        requestId = builder.requestId != null ? builder.requestId : Ulid.next();
        cap = builder.cap;
        confirmed = builder.confirmed;
        listener = builder.listener;
        eventsPerSecond = builder.eventsPerSecond;
        errorFingerprint = builder.errorFingerprint;
        continuing = builder.continuing;
        stopWhen = builder.stopWhen;
    }

    private static <T> T required(String setting, @Nullable T value) {
        if (value == null) {
            throw new IllegalArgumentException(setting + " is required");
        }
        return value;
    }

    public static Builder builder() {
        return new Builder();
    }

    /** Dead events only, unless it names DONE. */
    public EventFilter filter() {
        return filter;
    }

    /** Those of them that the action can change. */
    EventFilter filter(AdminAction action) {
        return action == AdminAction.SKIP ? filter.inOrder() : filter;
    }

    public String actor() {
        return actor;
    }

    public String reason() {
        return reason;
    }

    public String requestId() {
        return requestId;
    }

    public int cap() {
        return cap;
    }

    public boolean isConfirmed() {
        return confirmed;
    }

    /** The group of errors that the events must belong to, as {@link ErrorGroup#fingerprint} names it. */
    public @Nullable String errorFingerprint() {
        return errorFingerprint;
    }

    /** Whether it goes on with an earlier request of the same id that was not finished. */
    boolean isContinuing() {
        return continuing;
    }

    /** Whether it must not begin another batch. */
    boolean isStopped() {
        return stopWhen.getAsBoolean();
    }

    /** Refuses what only a replay can do. */
    void checkFor(AdminAction action) {
        boolean isUnfinished = !filter.statuses().stream().allMatch(EventStatus::isTerminal);
        if (action == AdminAction.REPLAY) {
            if (isUnfinished && filter.eventIds().isEmpty()) {
                throw new IllegalArgumentException("A replay of unfinished events needs their ids; they are delivered"
                        + " anyway. To deliver them sooner use runNow");
            }
            return;
        }
        if (action == AdminAction.RELEASE || action == AdminAction.RUN_NOW) {
            checkForUnfinished(action);
            return;
        }
        if (!filter.statuses().equals(Set.of(EventStatus.DEAD))) {
            throw new IllegalArgumentException("filter must be for DEAD events, not for " + filter.statuses()
                    + ": delivered events can be replayed, but only dead ones discarded or skipped");
        }
        if (listener != null || eventsPerSecond > 0) {
            throw new IllegalArgumentException(
                    "toListener and eventsPerSecond are settings of a replay, not of " + action);
        }
    }

    private void checkForUnfinished(AdminAction action) {
        if (!EnumSet.of(EventStatus.NEW, EventStatus.RETRY).containsAll(filter.statuses())) {
            throw new IllegalArgumentException(
                    action + " is for unfinished events, not for " + filter.statuses() + ": give them by unfinished");
        }
        if (listener != null || eventsPerSecond > 0 || errorFingerprint != null) {
            throw new IllegalArgumentException(
                    "toListener, eventsPerSecond and errorFingerprint are settings of a replay, not of " + action);
        }
        if (action == AdminAction.RELEASE && (filter.claimedBy() == null || filter.claimedBefore() == null)) {
            throw new IllegalArgumentException("A release needs claimedBy and claimedBefore");
        }
    }

    /** How a replay goes that starts then, from the event with the given index on. */
    Replay replay(Instant startedAt, int index) {
        Duration step = eventsPerSecond == 0
                ? Replay.NO_PAUSE
                : Duration.of((MICROS_PER_SECOND + eventsPerSecond - 1) / eventsPerSecond, ChronoUnit.MICROS);
        Instant due = startedAt.plus(step.multipliedBy(index));
        return new Replay(requestId, filter.statuses(), listener, due, step);
    }

    /** Which events are meant, in words, and how they are replayed. */
    String selection() {
        return filter
                + (errorFingerprint == null ? "" : " with errors of group " + errorFingerprint) + ", at most " + cap
                + (listener == null ? "" : ", to listener " + EventRules.show(listener))
                + (eventsPerSecond == 0 ? "" : ", " + eventsPerSecond + " per second");
    }

    /** Collects the parts of a request; every setter refuses a wrong value. Not thread-safe. */
    public static final class Builder {

        private @Nullable EventFilter filter;
        private @Nullable String actor;
        private @Nullable String reason;
        private @Nullable String requestId;
        private int cap = DEFAULT_CAP;
        private boolean confirmed;
        private @Nullable String listener;
        private int eventsPerSecond;
        private @Nullable String errorFingerprint;
        private boolean continuing;
        private BooleanSupplier stopWhen = () -> false;

        private Builder() {}

        /**
         * Required: which of the dead events; of the delivered ones too if it names DONE, which only a replay allows.
         * A replay also resets events of status RETRY if the filter names that status and the ids of the events: they
         * are due at once with no attempt made. One that is claimed is left alone. Any other filter for an unfinished
         * status is refused.
         */
        public Builder filter(EventFilter filter) {
            boolean named = !filter.eventIds().isEmpty();
            if (!filter.statuses().stream()
                    .allMatch(status -> status.isTerminal() || named && status == EventStatus.RETRY)) {
                throw new IllegalArgumentException("filter must be for DEAD or DONE events, or for RETRY events that"
                        + " are named by their ids, not for " + filter.statuses()
                        + ": other unfinished events are delivered anyway");
            }
            this.filter = filter.statuses().isEmpty() ? filter.dead() : filter;
            return this;
        }

        /**
         * Instead of {@link #filter}, of {@link OutboxAdmin#runNow} and {@link OutboxAdmin#release}: which of the NEW
         * and RETRY events.
         */
        public Builder unfinished(EventFilter filter) {
            this.filter = filter.statuses().isEmpty() ? filter.unfinished() : filter;
            return this;
        }

        /**
         * Of a replay or discard: only events whose last error is of this group, as {@link OutboxAdmin#errors} names
         * it; default: whatever the error.
         */
        public Builder errorFingerprint(String fingerprint) {
            this.errorFingerprint = ErrorFingerprint.check(fingerprint);
            return this;
        }

        /**
         * Goes on with the request of the same id that was stopped or failed: its record stays, events that it
         * changed already are left alone. Default false: a repetition changes nothing. A request that is finished, or
         * was never made, is not changed by this.
         */
        public Builder continuing(boolean continuing) {
            this.continuing = continuing;
            return this;
        }

        /**
         * Asked between two batches: once it answers true, the request ends with {@link AdminResult#complete} false.
         * Default: never.
         */
        public Builder stopWhen(BooleanSupplier stopWhen) {
            this.stopWhen = Objects.requireNonNull(stopWhen, "stopWhen");
            return this;
        }

        /** Instead of {@link #filter}: the dead ones among these events, at most {@value EventFilter#MAX_IDS}. */
        public Builder eventIds(Collection<String> eventIds) {
            return filter(EventFilter.ids(eventIds));
        }

        /** Required: who wants it. */
        public Builder actor(String actor) {
            this.actor = Checks.text("actor", actor, MAX_ACTOR_LENGTH);
            return this;
        }

        /** Required: why. */
        public Builder reason(String reason) {
            this.reason = Checks.text("reason", reason, MAX_REASON_LENGTH);
            return this;
        }

        /** Makes repetitions of this request harmless; default: a new ULID. 1 to 64 letters, digits or any of {@code . _ : -}. */
        public Builder requestId(String requestId) {
            this.requestId = Checks.requestId(requestId);
            return this;
        }

        /** How many events are changed at most, the oldest first: 1 to {@value AdminRequest#MAX_CAP}; default {@value AdminRequest#DEFAULT_CAP}. */
        public Builder cap(int cap) {
            this.cap = Checks.range("cap", cap, 1, MAX_CAP);
            return this;
        }

        /** Whether to do it; default false: a dry run that changes nothing. */
        public Builder confirmed(boolean confirmed) {
            this.confirmed = confirmed;
            return this;
        }

        /**
         * Of a replay: the name of the only listener that may receive the events, as in {@link outbox.EventListener#listenerName}, or {@code aggregateType:eventType}; default: the
         * listener of their route, whatever its name. An event whose route has another listener ends DEAD, with that reason.
         */
        public Builder toListener(String listener) {
            this.listener = Checks.text("toListener", listener, Pause.MAX_NAME_LENGTH);
            return this;
        }

        /** Of a replay: how many events become due per second, 1 to {@value AdminRequest#MAX_EVENTS_PER_SECOND}; default: all at once. */
        public Builder eventsPerSecond(int eventsPerSecond) {
            this.eventsPerSecond = Checks.range("eventsPerSecond", eventsPerSecond, 1, MAX_EVENTS_PER_SECOND);
            return this;
        }

        public AdminRequest build() {
            return new AdminRequest(this);
        }
    }

    @Override
    public String toString() {
        return requestId + " by " + actor + ": " + selection();
    }
}
