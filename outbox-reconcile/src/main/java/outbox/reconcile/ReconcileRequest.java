package outbox.reconcile;

import org.jspecify.annotations.Nullable;
import outbox.admin.AdminRequest;
import outbox.internal.Checks;
import outbox.internal.Ulid;

/**
 * A request to run a reconcile job now, on any node that has the job. It contains the job, the actor and the
 * reason. An unconfirmed request asks for a dry run. The request id ensures that the request is executed only
 * once. Immutable.
 */
public final class ReconcileRequest {

    private static final int MAX_JOB_LENGTH = 64;

    private final String job;
    private final String actor;
    private final String reason;
    private final String requestId;
    private final boolean confirmed;

    private ReconcileRequest(Builder builder) {
        job = builder.job;
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

    /** Returns a builder for a request to run this job. */
    public static Builder job(String job) {
        return new Builder(Checks.text("job", job, MAX_JOB_LENGTH));
    }

    public String job() {
        return job;
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

    /** Returns a description for the audit record. */
    String selection() {
        return "reconcile job " + job;
    }

    @Override
    public String toString() {
        return requestId + " by " + actor + ": " + selection();
    }

    /** Collects the parts of a request. Every setter rejects invalid values. Not thread-safe. */
    public static final class Builder {

        private final String job;
        private @Nullable String actor;
        private @Nullable String reason;
        private @Nullable String requestId;
        private boolean confirmed;

        private Builder(String job) {
            this.job = job;
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
         * Makes repetitions of this request harmless. 1 to 64 letters, digits or any of {@code . _ : -};
         * default: a new ULID.
         */
        public Builder requestId(String requestId) {
            this.requestId = Checks.requestId(requestId);
            return this;
        }

        /** Whether the job should write events. Default false: a dry run that only counts them. */
        public Builder confirmed(boolean confirmed) {
            this.confirmed = confirmed;
            return this;
        }

        public ReconcileRequest build() {
            return new ReconcileRequest(this);
        }
    }
}
