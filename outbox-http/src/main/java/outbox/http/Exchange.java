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

/** One request on its way, and the stage that its dispatcher waits for, which ends once: by the answer, at the limit, by the dispatcher or by a close. */
final class Exchange {

    private final EventEnvelope event;
    private final Verdict verdict;
    private final long begin;
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

    /** The client's own limit ends with the headers of the answer; this one covers its body too. */
    void expire() {
        fail(verdict.timeout());
    }

    void start(HttpClient client, HttpRequest request, ScheduledFuture<?> limit) {
        stage.whenComplete((delivered, failure) -> limit.cancel(false));
        CompletableFuture<HttpResponse<byte[]>> sent = client.sendAsync(request, info -> new AnswerSubscriber());
        sent.whenComplete(this::end);
        stage.whenComplete((delivered, failure) -> sent.cancel(true)); // closes the connection, unless it has ended
    }

    private void end(@Nullable HttpResponse<byte[]> answer, @Nullable Throwable failure) {
        if (stage.isDone()) {
            return; // what a cancelled request says is of no interest, and must not open a breaker
        }
        Throwable why;
        try {
            why = answer != null
                    ? verdict.of(event, answer, begin)
                    : verdict.of(event, unwrapped(Objects.requireNonNull(failure)));
        } catch (RuntimeException | Error e) { // none is known; without an end the event would wait for its limit
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
