package outbox.samples.course;

import org.jspecify.annotations.Nullable;

/**
 * The result of a request.
 *
 * @param id the id of the session or enrolment, or null if there is none
 */
record Answer(Outcome outcome, @Nullable Long id) {

    /** The outcome of a use case, with its HTTP status. A repeated request is not an error. */
    enum Outcome {
        CREATED(201),
        DONE(200),
        ALREADY_EXISTS(200),
        ALREADY_DONE(200),
        FULL(409),
        FINISHED(409),
        NOT_FOUND(404);

        private final int status;

        Outcome(int status) {
            this.status = status;
        }

        int status() {
            return status;
        }
    }

    static Answer of(Outcome outcome) {
        return new Answer(outcome, null);
    }
}
