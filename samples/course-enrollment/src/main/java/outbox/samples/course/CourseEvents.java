package outbox.samples.course;

import outbox.DedupKeys;
import outbox.EventEnvelope;

/** Creates the events. Use cases and reconcile jobs both use it, so that an event has the same key in both cases. */
final class CourseEvents {

    static final String ENROLLMENT = "enrollment";
    static final String ENROLLMENT_CREATED = "EnrollmentCreated";
    static final String SESSION = "session";
    static final String SESSION_CLOSED = "SessionClosed";

    private CourseEvents() {}

    static EventEnvelope.Builder enrollmentCreated(long enrollmentId, long sessionId, long learnerId) {
        return EventEnvelope.builder(ENROLLMENT_CREATED)
                .aggregateType(ENROLLMENT)
                .aggregateId(Long.toString(enrollmentId))
                .dedupKey(enrollmentKey(enrollmentId))
                .payloadJson("{\"enrollmentId\":%d,\"sessionId\":%d,\"learnerId\":%d}"
                        .formatted(enrollmentId, sessionId, learnerId));
    }

    static String enrollmentKey(long enrollmentId) {
        return DedupKeys.natural(ENROLLMENT, Long.toString(enrollmentId));
    }

    static EventEnvelope.Builder sessionClosed(long sessionId) {
        return EventEnvelope.builder(SESSION_CLOSED)
                .aggregateType(SESSION)
                .aggregateId(Long.toString(sessionId))
                .dedupKey(sessionKey(sessionId))
                .payloadJson("{\"sessionId\":%d}".formatted(sessionId));
    }

    static String sessionKey(long sessionId) {
        return DedupKeys.natural(SESSION, Long.toString(sessionId));
    }
}
