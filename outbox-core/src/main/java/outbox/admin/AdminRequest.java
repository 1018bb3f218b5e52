package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventAdministration.Replay;
import outbox.admin.OutboxAdmin.ErrorGroup;
import outbox.internal.Checks;
import outbox.internal.EventRules;
import outbox.internal.Ulid;
import outbox.model.EventStatus;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * A request to change dead events, to replay delivered events, or to deliver waiting events sooner. It states which
 * events, who requests it, and why. Without confirmation it is a dry run. Immutable.
 *
 * <p>A request with a given id is executed only once. To execute what a dry run showed, build the same request again
 * with {@link Builder#confirmed}. To repeat the request after a failure, keep the id.
 */
public final class AdminRequest {

    /** The number of events that a request may change if no cap is set. */
    public static final int DEFAULT_CAP = 1000;

    /** The largest cap. */
    public static final int MAX_CAP = 100_000;

    public static final int MAX_ACTOR_LENGTH = 128;
    public static final int MAX_REASON_LENGTH = 1000;

    /** The highest rate of a replay. */
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

    /** Selects only dead events, unless it includes other statuses. */
    public EventFilter filter() {
        return filter;
    }

    /** Restricts the filter to events that the action can change. */
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

    /** The fingerprint of the error group that the events must belong to; see {@link ErrorGroup#fingerprint}. */
    public @Nullable String errorFingerprint() {
        return errorFingerprint;
    }

    /** Whether to continue an earlier unfinished request with the same id. */
    boolean isContinuing() {
        return continuing;
    }

    /** Whether no further batch may start. */
    boolean isStopped() {
        return stopWhen.getAsBoolean();
    }

    /** Rejects settings that the action does not support. */
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

    /**
     * Returns the settings for the part of a replay that begins with the event at the given index.
     *
     * @param startedAt when the replay started
     */
    Replay replay(Instant startedAt, int index) {
        Duration step = eventsPerSecond == 0
                ? Replay.NO_PAUSE
                : Duration.of((MICROS_PER_SECOND + eventsPerSecond - 1) / eventsPerSecond, ChronoUnit.MICROS);
        Instant due = startedAt.plus(step.multipliedBy(index));
        return new Replay(requestId, filter.statuses(), listener, due, step);
    }

    /** Describes in words which events are selected and how they are replayed. */
    String selection() {
        return filter
                + (errorFingerprint == null ? "" : " with errors of group " + errorFingerprint) + ", at most " + cap
                + (listener == null ? "" : ", to listener " + EventRules.show(listener))
                + (eventsPerSecond == 0 ? "" : ", " + eventsPerSecond + " per second");
    }

    /** Builds a request; every setter rejects invalid values. Not thread-safe. */
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
         * Required. Selects dead events. For a replay, it may include DONE to select delivered events too. A replay
         * also resets events with status RETRY if the filter includes that status and the ids of the events: they
         * become due immediately with zero attempts. Claimed events are not changed. Any other filter for an
         * unfinished status is rejected.
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
         * Replaces {@link #filter} for {@link OutboxAdmin#runNow} and {@link OutboxAdmin#release}. Selects NEW and
         * RETRY events.
         */
        public Builder unfinished(EventFilter filter) {
            this.filter = filter.statuses().isEmpty() ? filter.unfinished() : filter;
            return this;
        }

        /**
         * For a replay or discard: selects only events whose last error belongs to this group, see
         * {@link OutboxAdmin#errors}. Default: any error.
         */
        public Builder errorFingerprint(String fingerprint) {
            this.errorFingerprint = ErrorFingerprint.check(fingerprint);
            return this;
        }

        /**
         * Continues the request with the same id that was stopped or failed. Its audit record is kept, and events
         * that it already changed are not changed again. Default: false; a repeated request changes nothing. This
         * setting has no effect on a request that is finished or was never made.
         */
        public Builder continuing(boolean continuing) {
            this.continuing = continuing;
            return this;
        }

        /**
         * Called between two batches. When it returns true, the request ends with {@link AdminResult#complete}
         * false. Default: never.
         */
        public Builder stopWhen(BooleanSupplier stopWhen) {
            this.stopWhen = Objects.requireNonNull(stopWhen, "stopWhen");
            return this;
        }

        /**
         * Replaces {@link #filter}: selects the dead events among these ids, at most {@value EventFilter#MAX_IDS}.
         */
        public Builder eventIds(Collection<String> eventIds) {
            return filter(EventFilter.ids(eventIds));
        }

        /** Required: the person or program that makes the request. */
        public Builder actor(String actor) {
            this.actor = Checks.text("actor", actor, MAX_ACTOR_LENGTH);
            return this;
        }

        /** Required: the reason for the request. */
        public Builder reason(String reason) {
            this.reason = Checks.text("reason", reason, MAX_REASON_LENGTH);
            return this;
        }

        /**
         * Identifies the request, so that a repetition has no effect. Default: a new ULID. 1 to 64 letters, digits
         * or any of {@code . _ : -}.
         */
        public Builder requestId(String requestId) {
            this.requestId = Checks.requestId(requestId);
            return this;
        }

        /**
         * The maximum number of events to change, oldest first: 1 to {@value AdminRequest#MAX_CAP}; default
         * {@value AdminRequest#DEFAULT_CAP}.
         */
        public Builder cap(int cap) {
            this.cap = Checks.range("cap", cap, 1, MAX_CAP);
            return this;
        }

        /** Whether to execute the request. Default: false, a dry run that changes nothing. */
        public Builder confirmed(boolean confirmed) {
            this.confirmed = confirmed;
            return this;
        }

        /**
         * For a replay: the name of the only listener that may receive the events, see
         * {@link outbox.EventListener#listenerName}, or {@code aggregateType:eventType}. Default: the listener of
         * their route, whatever its name. An event whose route has another listener becomes DEAD with that reason.
         */
        public Builder toListener(String listener) {
            this.listener = Checks.text("toListener", listener, Pause.MAX_NAME_LENGTH);
            return this;
        }

        /**
         * For a replay: the number of events that become due per second, 1 to
         * {@value AdminRequest#MAX_EVENTS_PER_SECOND}. Default: all at once.
         */
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
