package outbox.http;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.dispatch.CircuitBreaker;

import java.io.IOException;
import java.net.ConnectException;
import java.net.http.HttpConnectTimeoutException;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Clock;
import java.time.Duration;
import javax.net.ssl.SSLException;

/** Says what an answer, or none, means for its event; null is delivered. */
final class Verdict {

    private final String where;
    private final Duration connectTimeLimit;
    private final Duration requestTimeLimit;
    private final Duration longestRetryAfter;
    private final Clock clock;
    private final @Nullable CircuitBreaker breaker;

    Verdict(HttpTransport.Builder settings, String where) {
        this.where = where;
        connectTimeLimit = settings.connectTimeLimit;
        requestTimeLimit = settings.requestTimeLimit;
        longestRetryAfter = settings.longestRetryAfter;
        clock = settings.clock;
        breaker = settings.breaker;
    }

    @Nullable
    Throwable of(EventEnvelope event, HttpResponse<byte[]> answer) {
        int status = answer.statusCode();
        if (status >= 200 && status < 300) {
            return null;
        }
        String text = text(event, answer);
        if (status >= 300 && status < 500 && status != 408 && status != 429) {
            return new GiveUpException(text);
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

    private String text(EventEnvelope event, HttpResponse<byte[]> answer) {
        int status = answer.statusCode();
        String said = AnswerText.of(answer.body(), event.payloadJson());
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
