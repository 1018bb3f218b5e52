package outbox.http;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.dispatch.CircuitBreaker;
import outbox.spi.SafeLogger;

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

/** Says what an answer, or none, means for its event; null is delivered. Thread-safe. */
final class Verdict {

    private static final Logger LOG = SafeLogger.of(Verdict.class);

    /** What repeating cannot mend: the request itself is wrong. */
    private static final Set<Integer> WRONG_EVENT = Set.of(400, 409, 410, 413, 415, 422);

    /** Every event would get this answer: the credentials or the address are wrong. So would one that is redirected. */
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

    /** The begin of a request, for its verdict. */
    long begin() {
        return refusals.begin();
    }

    @Nullable
    Throwable of(EventEnvelope event, HttpResponse<byte[]> answer, long begin) {
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
                            text,
                            "refused " + RefusalRecord.MOST_GIVE_UPS + " events in a row, the last with " + status,
                            new GiveUpException(text));
        }
        if (WRONG_ENDPOINT.contains(status) || status >= 300 && status < 400) {
            return refused(event, text, "answered " + status, new HttpStatusException(status, text));
        }
        Duration wait = RetryAfter.of(answer.headers(), clock.instant());
        if (wait == null) {
            return new HttpStatusException(status, text);
        }
        boolean busy = status == 429 || status == 503; // all the receiver says is: not now
        if (busy) {
            open("answered " + status + " with Retry-After");
        }
        Duration bounded = wait.compareTo(longestRetryAfter) > 0 ? longestRetryAfter : wait;
        return new RetryLaterException(bounded, text, !busy, null);
    }

    /**
     * The endpoint takes no event: this one waits, uncounted, and the breaker keeps the others away.
     *
     * @param otherwise the failure if it is the event's after all
     */
    private Throwable refused(EventEnvelope event, String text, String why, Throwable otherwise) {
        RefusalRecord.Wait wait = refusals.refused(event.eventId());
        return wait == null ? otherwise : waiting(event, text, why, wait);
    }

    /** No request could be made, since there was no value for the header Authorization. */
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

    /** The failure of an exchange without an answer, of the same kind as the client's, but saying where. */
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
        // Without its cause: the client quotes what it cannot read, and that may be the payload.
        return new IOException("The connection to " + where + " broke off: "
                + AnswerText.of(String.valueOf(failure.getMessage()), event.payloadJson()));
    }

    HttpTimeoutException timeout() {
        return new HttpTimeoutException(where + " did not answer within " + requestTimeLimit);
    }

    /** Before the failure is reported, so that the breaker knows whose fault it is. */
    private void open(String why) {
        if (breaker != null && breaker.state() != CircuitBreaker.State.OPEN) {
            breaker.open(where + " " + why);
        }
    }
}
