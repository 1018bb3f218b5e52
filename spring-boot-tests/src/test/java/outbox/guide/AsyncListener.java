package outbox.guide;

import outbox.EventEnvelope;
import outbox.spring.OutboxListener;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.concurrent.CompletionStage;

/** A listener whose client does not block. */
class AsyncListener {

    private final HttpClient http;
    private final URI endpoint;

    AsyncListener(HttpClient http, URI endpoint) {
        this.http = http;
        this.endpoint = endpoint;
    }

    @OutboxListener(type = "order.indexed")
    CompletionStage<Void> index(EventEnvelope event) {
        HttpRequest request = HttpRequest.newBuilder(endpoint)
                .header("Idempotency-Key", event.eventId())
                .timeout(Duration.ofSeconds(10))
                .POST(BodyPublishers.ofString(event.payloadJson()))
                .build();
        return http.sendAsync(request, BodyHandlers.discarding()).thenAccept(response -> {
            if (response.statusCode() != 200) {
                throw new IllegalStateException("The index answered " + response.statusCode());
            }
        });
    }
}
