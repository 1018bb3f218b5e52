package outbox.admin;

import org.jspecify.annotations.Nullable;
import outbox.internal.Checks;
import outbox.internal.Ulid;

import java.util.Locale;

/**
 * A request to pause or resume delivery on all nodes. It states what to pause, who requests it, and why. Without
 * confirmation it is a dry run. A request with a given id is executed only once. Immutable.
 */
public final class PauseRequest {

    private final Pause.Scope scope;
    private final String name;
    private final String actor;
    private final String reason;
    private final String requestId;
    private final boolean confirmed;

    private PauseRequest(Builder builder) {
        scope = builder.scope;
        name = builder.name;
        actor = required("actor", builder.actor);
        reason = required("reason", builder.reason);
        requestId = builder.requestId != null ? builder.requestId : Ulid.next();
        confirmed = builder.confirmed;
    }

    private static String required(String setting, @Nullable String value) {
        if (value == null) {
            throw new IllegalArgumentException(setting + " is required");
        }
        return value;
    }

    /** Applies to every event of the outbox. */
    public static Builder outbox() {
        return new Builder(Pause.Scope.OUTBOX, "");
    }

    /** Applies to events of this type, with any aggregate type. */
    public static Builder type(String eventType) {
        return new Builder(Pause.Scope.TYPE, Checks.text("eventType", eventType, Pause.MAX_NAME_LENGTH));
    }

    /**
     * Applies to events of this listener: {@link outbox.EventListener#listenerName}, or
     * {@code aggregateType:eventType}.
     */
    public static Builder listener(String name) {
        return new Builder(Pause.Scope.LISTENER, Checks.text("listener", name, Pause.MAX_NAME_LENGTH));
    }

    public Pause.Scope scope() {
        return scope;
    }

    /** The name of the event type or listener; empty for the whole outbox. */
    public String name() {
        return name;
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

    public boolean isConfirmed() {
        return confirmed;
    }

    /** Describes in words what is paused. */
    String selection() {
        return scope == Pause.Scope.OUTBOX ? "the whole outbox" : scope.name().toLowerCase(Locale.ROOT) + " " + name;
    }

    @Override
    public String toString() {
        return requestId + " by " + actor + ": " + selection();
    }

    /** Builds a request; every setter rejects invalid values. Not thread-safe. */
    public static final class Builder {

        private final Pause.Scope scope;
        private final String name;
        private @Nullable String actor;
        private @Nullable String reason;
        private @Nullable String requestId;
        private boolean confirmed;

        private Builder(Pause.Scope scope, String name) {
            this.scope = scope;
            this.name = name;
        }

        /** Required: the person or program that makes the request. */
        public Builder actor(String actor) {
            this.actor = Checks.text("actor", actor, AdminRequest.MAX_ACTOR_LENGTH);
            return this;
        }

        /** Required: the reason for the request. */
        public Builder reason(String reason) {
            this.reason = Checks.text("reason", reason, AdminRequest.MAX_REASON_LENGTH);
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

        /** Whether to execute the request. Default: false, a dry run that changes nothing. */
        public Builder confirmed(boolean confirmed) {
            this.confirmed = confirmed;
            return this;
        }

        public PauseRequest build() {
            return new PauseRequest(this);
        }
    }
}
