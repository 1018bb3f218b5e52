package outbox.http;

import org.jspecify.annotations.Nullable;

import java.io.ByteArrayOutputStream;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/**
 * Reads the start of a response body. After enough bytes it cancels, which closes the connection, so an endless
 * response consumes neither memory nor time.
 */
final class AnswerSubscriber implements BodySubscriber<byte[]> {

    static final int MAX_BYTES = 8192;

    private final CompletableFuture<byte[]> body = new CompletableFuture<>();
    // not shared: the client calls one method at a time
    private final ByteArrayOutputStream read = new ByteArrayOutputStream();
    private Flow.@Nullable Subscription subscription;

    @Override
    public CompletionStage<byte[]> getBody() {
        return body;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
        if (subscription != null) {
            given.cancel();
            return;
        }
        subscription = given;
        given.request(1);
    }

    @Override
    public void onNext(List<ByteBuffer> buffers) {
        for (ByteBuffer buffer : buffers) {
            byte[] some = new byte[Math.min(buffer.remaining(), MAX_BYTES - read.size())];
            buffer.get(some);
            read.writeBytes(some);
        }
        Flow.Subscription given = Objects.requireNonNull(subscription);
        if (read.size() < MAX_BYTES) {
            given.request(1);
        } else {
            given.cancel();
            body.complete(read.toByteArray());
        }
    }

    @Override
    public void onError(Throwable failure) {
        body.completeExceptionally(failure);
    }

    @Override
    public void onComplete() {
        body.complete(read.toByteArray());
    }
}
