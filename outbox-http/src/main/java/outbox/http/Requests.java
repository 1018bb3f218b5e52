package outbox.http;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;

import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Clock;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** Creates the request of an event: CloudEvents headers, idempotency key, signatures, and the unchanged payload. */
final class Requests {

    private final HttpRequest.Builder common; // only copied, never sent
    private final String source;
    private final List<WebhookSecret> secrets;
    private final int maxBodyBytes;
    private final Clock clock;
    private final @Nullable Supplier<String> authorization;

    Requests(HttpTransport.Builder settings, URI endpoint, String source) {
        common = HttpRequest.newBuilder(endpoint).timeout(settings.requestTimeLimit);
        settings.headers.forEach(common::header);
        authorization = settings.authorization;
        this.source = source;
        secrets = List.copyOf(settings.secrets);
        maxBodyBytes = settings.maxBodyBytes;
        clock = settings.clock;
    }

    /** @throws NoCredentialsException if there is no valid value for the header Authorization */
    HttpRequest of(EventEnvelope event) {
        if (event.payloadSize() > maxBodyBytes) {
            throw new GiveUpException("The payload of event " + CloudEventHeaders.encode(event.eventId()) + " has "
                    + event.payloadSize() + " bytes; the limit is " + maxBodyBytes);
        }
        byte[] body = event.payloadBytes();
        HttpRequest.Builder request = common.copy();
        if (authorization != null) {
            request.header("authorization", credentials(authorization));
        }
        CloudEventHeaders.of(event, source).forEach(request::header);
        String id = CloudEventHeaders.encode(event.eventId());
        request.header("idempotency-key", id);
        if (!secrets.isEmpty()) {
            long timestamp = clock.instant().getEpochSecond();
            request.header("webhook-id", id)
                    .header("webhook-timestamp", Long.toString(timestamp))
                    .header("webhook-signature", signatures(id, timestamp, body));
        }
        return request.POST(BodyPublishers.ofByteArray(body)).build();
    }

    private static String credentials(Supplier<String> authorization) {
        String value;
        try {
            value = authorization.get();
        } catch (RuntimeException e) { // without its message, which may quote the value
            throw new NoCredentialsException(
                    "the supplier of the header Authorization threw "
                            + e.getClass().getName(),
                    e);
        }
        if (value == null || !HttpTransport.Builder.isHeaderValue(value)) {
            throw new NoCredentialsException("the value for the header Authorization is not printable ASCII", null);
        }
        return value;
    }

    private String signatures(String id, long timestamp, byte[] body) {
        return secrets.stream().map(secret -> secret.sign(id, timestamp, body)).collect(Collectors.joining(" "));
    }
}
