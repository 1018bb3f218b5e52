package outbox.samples.course;

import org.jspecify.annotations.Nullable;

/**
 * What came of a request.
 *
 * @param id of the session or enrolment, where there is one
 */
record Answer(Outcome outcome, @Nullable Long id) {

    /** What a use case decides, and how HTTP calls it. Repeating what was done is no error. */
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
