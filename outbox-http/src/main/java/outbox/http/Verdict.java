package outbox.http;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.dispatch.CircuitBreaker;
import outbox.internal.text.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.ConnectException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Clock;
import java.time.Duration;
import java.util.Set;
import javax.net.ssl.SSLException;

/** Decides the result of an event from its response or failure; null means delivered. Thread-safe. */
final class Verdict {

    private static final Logger LOG = SafeLogger.of(Verdict.class);

    /** A repetition cannot succeed, because the request itself is wrong. */
    private static final Set<Integer> WRONG_EVENT = Set.of(400, 409, 410, 413, 415, 422);

    /**
     * Every event would get this status, because the credentials or the address are wrong. Redirects are treated the
     * same.
     */
    private static final Set<Integer> WRONG_ENDPOINT = Set.of(401, 403, 404);

    private final String where;
    private final Duration connectTimeLimit;
    private final Duration requestTimeLimit;
    private final Duration longestRetryAfter;
    private final Clock clock;
    private final @Nullable CircuitBreaker breaker;
    private final RefusalRecord refusals;

    Verdict(HttpTransport.Builder settings, String where) {
        this.where = where;
        connectTimeLimit = settings.connectTimeLimit;
        requestTimeLimit = settings.requestTimeLimit;
        longestRetryAfter = settings.longestRetryAfter;
        clock = settings.clock;
        breaker = settings.breaker;
        refusals = new RefusalRecord(settings.clock);
    }

    /** Records the start of a request. */
    RefusalRecord.Begin begin() {
        return refusals.begin();
    }

    @Nullable
    Throwable of(EventEnvelope event, HttpResponse<byte[]> answer, RefusalRecord.Begin begin) {
        int status = answer.statusCode();
        if (status >= 200 && status < 300) {
            if (refusals.delivered(event.eventId(), begin)) {
                LOG.log(Level.INFO, where + " takes events again");
            }
            return null;
        }
        String text = text(event, answer);
        if (WRONG_EVENT.contains(status)) {
            return refusals.givenUp(event.eventId()) < RefusalRecord.MOST_GIVE_UPS
                    ? new GiveUpException(text)
                    : refused(
                            event,
                            begin,
                            text,
                            "refused " + RefusalRecord.MOST_GIVE_UPS + " events in a row, the last with " + status,
                            new GiveUpException(text));
        }
        if (WRONG_ENDPOINT.contains(status) || status >= 300 && status < 400) {
            return refused(event, begin, text, "answered " + status, new HttpStatusException(status, text));
        }
        Duration wait = RetryAfter.of(answer.headers(), clock.instant());
        if (wait == null) {
            return new HttpStatusException(status, text);
        }
        boolean busy = status == 429 || status == 503; // the receiver is only overloaded
        if (busy) {
            open("answered " + status + " with Retry-After");
        }
        Duration bounded = wait.compareTo(longestRetryAfter) > 0 ? longestRetryAfter : wait;
        return new RetryLaterException(bounded, text, !busy, null);
    }

    /**
     * Handles an endpoint that accepts no event: this event waits without a counted attempt, and the breaker stops
     * the others.
     *
     * @param otherwise the failure to return if the event itself is the cause
     */
    private Throwable refused(
            EventEnvelope event, RefusalRecord.Begin begin, String text, String why, Throwable otherwise) {
        RefusalRecord.Wait wait = refusals.refused(event.eventId(), begin);
        return wait == null ? otherwise : waiting(event, text, why, wait);
    }

    /** Handles an event without a request, because there was no value for the header Authorization. */
    Throwable withoutCredentials(EventEnvelope event, NoCredentialsException failure) {
        String why = "gets no event: " + failure.getMessage();
        return waiting(event, where + " " + why, why, refusals.unsent());
    }

    private RetryLaterException waiting(EventEnvelope event, String text, String why, RefusalRecord.Wait wait) {
        open(why);
        if (wait.isFirst()) {
            LOG.log(
                    Level.ERROR,
                    where + " " + why + ". Its events wait, and no attempt is counted. Correct the credentials, the"
                            + " address or the receiver; delivery then goes on by itself. The first event was "
                            + CloudEventHeaders.encode(event.eventId()) + " (type "
                            + CloudEventHeaders.encode(event.eventType()) + ")");
        }
        return new RetryLaterException(wait.delay(), text);
    }

    private String text(EventEnvelope event, HttpResponse<byte[]> answer) {
        int status = answer.statusCode();
        String said = AnswerText.of(
                answer.body(), event.payloadJson(), answer.request().headers().allValues("authorization"));
        return where + " answered " + status + " to event " + CloudEventHeaders.encode(event.eventId()) + " (type "
                + CloudEventHeaders.encode(event.eventType()) + ")"
                + (status >= 300 && status < 400 ? "; redirects are not followed" : "")
                + (said.isEmpty() ? "" : ": " + said);
    }

    /**
     * Returns the failure of a request without a response: the type of the client's exception, with the endpoint in
     * its message.
     */
    Throwable of(EventEnvelope event, Throwable failure) {
        if (failure instanceof ConnectException) {
            open("cannot be reached");
            return new ConnectException(where + " cannot be reached").initCause(failure);
        }
        if (failure instanceof HttpConnectTimeoutException) {
            open("cannot be reached");
            return new HttpConnectTimeoutException(where + " did not take a connection within " + connectTimeLimit);
        }
        if (failure instanceof HttpTimeoutException) {
            return timeout();
        }
        if (failure instanceof SSLException || !(failure instanceof IOException)) {
            return failure;
        }
        // Without its cause: the message of the client may quote the payload.
        return new IOException("The connection to " + where + " broke off: "
                + AnswerText.of(String.valueOf(failure.getMessage()), event.payloadJson()));
    }

    HttpTimeoutException timeout() {
        return new HttpTimeoutException(where + " did not answer within " + requestTimeLimit);
    }

    /** Opens the breaker. Called before the failure is reported, so that the breaker keeps the reason. */
    private void open(String why) {
        if (breaker != null && breaker.state() != CircuitBreaker.State.OPEN) {
            breaker.open(where + " " + why);
        }
    }
}
