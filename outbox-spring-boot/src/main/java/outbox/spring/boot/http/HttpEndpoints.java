package outbox.spring.boot.http;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.ssl.NoSuchSslBundleException;
import org.springframework.boot.ssl.SslBundles;
import outbox.dispatch.CircuitBreaker;
import outbox.http.HttpTransport;
import outbox.http.WebhookSecret;
import outbox.spring.ListenerSource;
import outbox.spring.OutboxListeners;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.internal.OutboxNames;
import outbox.spring.boot.internal.PropertyCheck;

import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Creates a transport for each configured endpoint. The transports are closed with the application,
 * after the dispatchers.
 */
final class HttpEndpoints implements ListenerSource, SmartInitializingSingleton, DisposableBean {

    // added to the limit of the listener, so that the limit of the transport ends first
    private static final Duration AFTER_ANSWER = Duration.ofSeconds(10);

    private record Way(
            OutboxHttpProperties.Endpoint endpoint,
            String origin,
            HttpTransport transport,
            @Nullable CircuitBreaker breaker) {}

    private final Map<String, Way> ways = new LinkedHashMap<>(); // not changed after the constructor
    private final ObjectProvider<OutboxInstance> outboxes;

    HttpEndpoints(
            OutboxHttpProperties settings,
            ObjectProvider<SslBundles> bundles,
            ObjectProvider<OutboxInstance> outboxes) {
        this.outboxes = outboxes;
        try {
            open(settings, bundles);
        } catch (RuntimeException | Error e) {
            destroy();
            throw e;
        }
    }

    private void open(OutboxHttpProperties settings, ObjectProvider<SslBundles> bundles) {
        List<OutboxHttpProperties.Endpoint> endpoints = settings.endpoints();
        for (int i = 0; i < endpoints.size(); i++) {
            OutboxHttpProperties.Endpoint endpoint = endpoints.get(i);
            PropertyCheck check = PropertyCheck.of(OutboxHttpProperties.PREFIX).at("endpoints[" + i + "]");
            String name = check.notBlank("name", endpoint.name());
            if (ways.containsKey(name)) {
                throw check.refuse("name", name, "a name that no other endpoint has");
            }
            CircuitBreaker breaker = endpoint.breaker().enabled()
                    ? CircuitBreaker.named(name)
                            .wait(endpoint.breaker().openFor())
                            .build()
                    : null;
            String origin = OutboxHttpProperties.PREFIX + ".endpoints[" + i + "]";
            ways.put(name, new Way(endpoint, origin, transport(name, endpoint, check, breaker, bundles), breaker));
        }
    }

    private static HttpTransport transport(
            String name,
            OutboxHttpProperties.Endpoint endpoint,
            PropertyCheck check,
            @Nullable CircuitBreaker breaker,
            ObjectProvider<SslBundles> bundles) {
        HttpTransport.Builder builder = HttpTransport.named(name)
                .source(endpoint.source())
                .connectTimeLimit(endpoint.connectTimeLimit())
                .requestTimeLimit(endpoint.requestTimeLimit())
                .longestRetryAfter(endpoint.longestRetryAfter())
                .drainTime(endpoint.drainTime())
                .maxInFlight(endpoint.maxInFlight());
        // The refused value may contain a credential, so the message does not show it.
        orRefuse(check, "url", () -> builder.endpoint(uri(endpoint.url())));
        for (int i = 0; i < endpoint.secrets().size(); i++) {
            String secret = endpoint.secrets().get(i);
            orRefuse(check, "secrets[" + i + "]", () -> builder.signWith(WebhookSecret.parse(secret)));
        }
        endpoint.headers()
                .forEach((header, value) -> orRefuse(check, "headers." + header, () -> builder.header(header, value)));
        if (endpoint.maxBodySize() != null) {
            builder.maxBodyBytes((int) endpoint.maxBodySize().toBytes());
        }
        if (endpoint.sslBundle() != null) {
            try {
                builder.sslContext(
                        bundles.getObject().getBundle(endpoint.sslBundle()).createSslContext());
            } catch (NoSuchSslBundleException e) {
                throw check.refuse("ssl-bundle", endpoint.sslBundle(), "the name of an SSL bundle: " + e.getMessage());
            }
        }
        if (breaker != null) {
            builder.breaker(breaker);
        }
        return builder.build();
    }

    private static URI uri(@Nullable String url) {
        try {
            return new URI(url == null ? "" : url);
        } catch (URISyntaxException e) { // the exception message contains the text
            throw new IllegalArgumentException("not a URI");
        }
    }

    private static void orRefuse(PropertyCheck check, String key, Runnable setting) {
        try {
            setting.run();
        } catch (IllegalArgumentException e) {
            throw check.refuse(key, "…", "right: " + e.getMessage());
        }
    }

    @Override
    public void addTo(String outbox, OutboxListeners listeners) {
        for (Way way : ways.values()) {
            OutboxHttpProperties.Endpoint endpoint = way.endpoint();
            if (!endpoint.outbox().equals(outbox)) {
                continue;
            }
            for (String type : endpoint.type()) {
                listeners.add(new OutboxListeners.Entry(
                        endpoint.aggregate(),
                        type,
                        way.transport(),
                        way.origin(),
                        null,
                        endpoint.requestTimeLimit().plus(AFTER_ANSWER),
                        null));
            }
            if (way.breaker() != null) {
                listeners.guard(way.transport().listenerName(), way.breaker());
            }
        }
    }

    @Override
    public void afterSingletonsInstantiated() {
        OutboxNames.require(
                outboxes,
                ways.values().stream()
                        .map(way -> new OutboxNames.Use(way.endpoint().outbox(), way.origin())));
    }

    @Override
    public void destroy() {
        ways.values().forEach(way -> way.transport().close());
    }
}
