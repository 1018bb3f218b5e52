package outbox.http;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;

import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ScheduledFuture;

/**
 * One request in flight, and the stage that the dispatcher waits for. The stage completes once: with the response, at
 * the time limit, or through the dispatcher or close.
 */
final class Exchange {

    private final EventEnvelope event;
    private final Verdict verdict;
    private final RefusalRecord.Begin begin;
    private final CompletableFuture<@Nullable Void> stage = new CompletableFuture<>();

    Exchange(EventEnvelope event, Verdict verdict) {
        this.event = event;
        this.verdict = verdict;
        this.begin = verdict.begin();
    }

    CompletableFuture<@Nullable Void> stage() {
        return stage;
    }

    void fail(Throwable why) {
        stage.completeExceptionally(why);
    }

    /**
     * Ends the request at its limit. The limit of the client covers only the response headers; this one also covers
     * the body.
     */
    void expire() {
        fail(verdict.timeout());
    }

    void start(HttpClient client, HttpRequest request, ScheduledFuture<?> limit) {
        stage.whenComplete((delivered, failure) -> limit.cancel(false));
        CompletableFuture<HttpResponse<byte[]>> sent = client.sendAsync(request, info -> new AnswerSubscriber());
        sent.whenComplete(this::end);
        // closes the connection if the request is still running
        stage.whenComplete((delivered, failure) -> sent.cancel(true));
    }

    private void end(@Nullable HttpResponse<byte[]> answer, @Nullable Throwable failure) {
        if (stage.isDone()) {
            return; // ignore the result of a cancelled request; it must not open a breaker
        }
        Throwable why;
        try {
            why = answer != null
                    ? verdict.of(event, answer, begin)
                    : verdict.of(event, unwrapped(Objects.requireNonNull(failure)));
        } catch (RuntimeException | Error e) { // not expected; complete the stage anyway
            why = e;
        }
        if (why == null) {
            stage.complete(null);
        } else {
            fail(why);
        }
    }

    private static Throwable unwrapped(Throwable failure) {
        return failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
    }
}
