package outbox.http;

import org.jspecify.annotations.Nullable;
import outbox.AsyncEventListener;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.dispatch.CircuitBreaker;

import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;

/**
 * Posts each event to one HTTP endpoint as a CloudEvent 1.0 in binary mode. The status of the response decides
 * whether the event is delivered. Thread-safe; registered like any listener, for any number of routes to this
 * endpoint.
 *
 * <p>2xx means delivered. 408, 429 and 5xx are tried again, after {@code Retry-After} if the response has it; 429 and
 * 503 with that header do not count as an attempt. 400, 409, 410, 413, 415 and 422 are a {@link GiveUpException}: the
 * event is DEAD at once. 401, 403, 404 and redirects mean that the credentials or the address are wrong: the event
 * waits and no attempt is counted. The same happens after many refused events in a row. Any other status, a timeout,
 * or an incomplete response of any status is a failed attempt.
 *
 * <p>Close the dispatcher first, then the transport. Events that are still in flight after the drain time, or arrive
 * after close, are postponed and lose no attempt.
 */
public final class HttpTransport implements AsyncEventListener, AutoCloseable {

    private final String name;
    private final int maxInFlight;
    private final Duration requestTimeLimit;
    private final Duration drainTime;
    private final String where;
    private final Requests requests;
    private final Verdict verdict;
    private final ClientThreads threads;
    // null after close, so that the client can be garbage-collected
    private final AtomicReference<@Nullable HttpClient> client;
    private final Set<Exchange> inFlight = ConcurrentHashMap.newKeySet();

    private HttpTransport(Builder settings, URI endpoint, String source) {
        name = settings.name;
        maxInFlight = settings.maxInFlight;
        requestTimeLimit = settings.requestTimeLimit;
        drainTime = settings.drainTime;
        where = endpoint.getScheme() + "://" + endpoint.getRawAuthority(); // path and query may contain a token
        requests = new Requests(settings, endpoint, source);
        verdict = new Verdict(settings, where);
        threads = new ClientThreads(name);
        client = new AtomicReference<>(newClient(settings, threads));
    }

    private static HttpClient newClient(Builder settings, ClientThreads threads) {
        // HTTP/1.1: with HTTP/2, requests beyond the stream limit of the receiver fail instead of waiting.
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .followRedirects(HttpClient.Redirect.NEVER)
                .connectTimeout(settings.connectTimeLimit)
                .executor(threads.executor());
        if (settings.sslContext != null) {
            builder.sslContext(settings.sslContext);
        }
        if (settings.proxy != null) {
            builder.proxy(settings.proxy);
        }
        return builder.build();
    }

    /** Builds a transport. The name is its listener name in rules, limits and pauses. */
    public static Builder named(String name) {
        return new Builder(name);
    }

    @Override
    public String listenerName() {
        return name;
    }

    @Override
    public int maxInFlight() {
        return maxInFlight;
    }

    @Override
    public CompletionStage<?> onEventAsync(EventEnvelope event) {
        Exchange exchange = new Exchange(event, verdict);
        // before the client is read: either close() sees the exchange or this code sees the close
        inFlight.add(exchange);
        exchange.stage().whenComplete((delivered, failure) -> inFlight.remove(exchange));
        try {
            HttpClient open = client.get();
            if (open == null) {
                throw closed();
            }
            exchange.start(open, requests.of(event), schedule(exchange::expire));
        } catch (NoCredentialsException e) {
            exchange.fail(verdict.withoutCredentials(event, e));
        } catch (RuntimeException | Error e) {
            exchange.fail(e);
        }
        return exchange.stage();
    }

    private ScheduledFuture<?> schedule(Runnable task) {
        try {
            return threads.timer().schedule(task, requestTimeLimit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            throw closed();
        }
    }

    private RetryLaterException closed() {
        return new RetryLaterException(
                RetryLaterException.SHORTEST_UNCOUNTED, "HTTP transport " + name + " to " + where + " is closed");
    }

    /**
     * Waits for requests in flight, up to the drain time, cancels the others, and ends the threads and connections. A
     * second call returns at once.
     */
    @Override
    public void close() {
        HttpClient last = client.getAndSet(null);
        if (last == null) {
            return;
        }
        drain();
        inFlight.forEach(exchange -> exchange.fail(closed()));
        threads.close(last);
    }

    private void drain() {
        try {
            CompletableFuture.allOf(inFlight.stream().map(Exchange::stage).toArray(CompletableFuture<?>[]::new))
                    .get(drainTime.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            return; // the dispatcher gets each result; close cancels the remaining requests
        }
    }

    /** Contains the endpoint without path and query. */
    @Override
    public String toString() {
        return "HttpTransport[" + name + ", " + where + ", " + inFlight.size() + " in flight]";
    }

    /** Builds a transport. Every setter refuses a wrong value. */
    public static final class Builder {

        private static final Duration LONGEST_LIMIT = Duration.ofMinutes(10);
        private static final Duration LONGEST_WAIT = Duration.ofDays(1);
        private static final int MOST_SECRETS = 3;
        private static final Pattern HEADER_NAME = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");
        private static final Pattern HEADER_VALUE = Pattern.compile("[!-~]([ -~]*[!-~])?");
        private static final Pattern OURS =
                Pattern.compile("(ce|webhook)-.*|content-type|idempotency-key|traceparent|tracestate");

        final String name;
        final List<WebhookSecret> secrets = new ArrayList<>();
        final Map<String, String> headers = new LinkedHashMap<>();
        Duration connectTimeLimit = Duration.ofSeconds(5);
        Duration requestTimeLimit = Duration.ofSeconds(30);
        Duration longestRetryAfter = Duration.ofHours(1);
        Duration drainTime = Duration.ofSeconds(10);
        int maxInFlight = 64;
        int maxBodyBytes = EventEnvelope.MAX_PAYLOAD_BYTES;
        Clock clock = Clock.systemUTC();

        @Nullable
        Supplier<String> authorization;

        @Nullable
        CircuitBreaker breaker;

        @Nullable
        SSLContext sslContext;

        @Nullable
        ProxySelector proxy;

        private @Nullable URI endpoint;
        private @Nullable String source;

        private Builder(String name) {
            if (name.isBlank()) {
                throw new IllegalArgumentException("name must not be blank");
            }
            this.name = name;
        }

        /** Required: the endpoint, an absolute {@code http} or {@code https} URI. */
        public Builder endpoint(URI endpoint) {
            String scheme = String.valueOf(endpoint.getScheme()).toLowerCase(Locale.ROOT);
            if (!scheme.equals("http") && !scheme.equals("https") || endpoint.getHost() == null) {
                throw new IllegalArgumentException("endpoint must be an absolute http or https URI with a host");
            }
            if (endpoint.getRawUserInfo() != null || endpoint.getRawFragment() != null) {
                throw new IllegalArgumentException(
                        "endpoint must have neither user nor fragment. Set credentials with the header Authorization");
            }
            this.endpoint = endpoint;
            return this;
        }

        /** Required: the CloudEvents attribute {@code source}, such as {@code /shop/orders}. */
        public Builder source(URI source) {
            if (source.toString().isEmpty()) {
                throw new IllegalArgumentException("source must not be empty");
            }
            this.source = source.toASCIIString();
            return this;
        }

        /**
         * Signs requests with this secret. May be called up to three times, to replace a secret: receivers accept any
         * signature that they can verify. Default: requests are not signed.
         */
        public Builder signWith(WebhookSecret secret) {
            if (secrets.size() == MOST_SECRETS) {
                throw new IllegalArgumentException("At most " + MOST_SECRETS + " secrets sign at a time");
            }
            secrets.add(Objects.requireNonNull(secret, "secret"));
            return this;
        }

        /** Adds a header to every request. Headers that the transport or the client sets are refused. */
        public Builder header(String headerName, String value) {
            String lower = headerName.toLowerCase(Locale.ROOT);
            if (!HEADER_NAME.matcher(headerName).matches()) {
                throw new IllegalArgumentException("A header name must be an HTTP token");
            }
            if (OURS.matcher(lower).matches()) {
                throw new IllegalArgumentException("Header " + headerName + " is set by the transport");
            }
            if (!isHeaderValue(value)) { // the message does not contain the value, which may be a credential
                throw new IllegalArgumentException("The value of header " + headerName
                        + " must be printable ASCII, not empty, and must not start or end with a space");
            }
            try {
                HttpRequest.newBuilder().header(headerName, value);
            } catch (IllegalArgumentException e) {
                throw new IllegalArgumentException("Header " + headerName + " is set by the HTTP client of the JDK", e);
            }
            if (headers.putIfAbsent(lower, value) != null) {
                throw new IllegalArgumentException("Header " + headerName + " is already set");
            }
            return this;
        }

        /**
         * Sends the header {@code Authorization}, such as {@code Bearer …}. The supplier is called for every event,
         * so that the value can be renewed. It must be fast and thread-safe. While it throws, or returns a value that
         * is not printable ASCII, events wait as they do after a 401.
         */
        public Builder authorization(Supplier<String> value) {
            this.authorization = Objects.requireNonNull(value, "value");
            return this;
        }

        static boolean isHeaderValue(String value) {
            return HEADER_VALUE.matcher(value).matches();
        }

        /** The time limit for a connection; default 5 seconds, and not longer than the request time limit. */
        public Builder connectTimeLimit(Duration limit) {
            connectTimeLimit = Durations.positive("connectTimeLimit", limit, LONGEST_LIMIT);
            return this;
        }

        /**
         * The time limit for a request including its response; at most 10 minutes, default 30 seconds. Keep it below
         * the {@code listenerTimeLimit} of the dispatcher.
         */
        public Builder requestTimeLimit(Duration limit) {
            requestTimeLimit = Durations.positive("requestTimeLimit", limit, LONGEST_LIMIT);
            return this;
        }

        /** The maximum wait; a longer {@code Retry-After} is reduced to it. At most 1 day, default 1 hour. */
        public Builder longestRetryAfter(Duration longest) {
            longestRetryAfter = Durations.positive("longestRetryAfter", longest, LONGEST_WAIT);
            return this;
        }

        /** The maximum number of concurrent requests and connections per dispatcher, 1 to 10,000; default 64. */
        public Builder maxInFlight(int maxInFlight) {
            if (maxInFlight < 1 || maxInFlight > 10_000) {
                throw new IllegalArgumentException("maxInFlight must be between 1 and 10000: " + maxInFlight);
            }
            this.maxInFlight = maxInFlight;
            return this;
        }

        /**
         * The maximum payload size. A larger event becomes DEAD without a request. Default {@value
         * EventEnvelope#MAX_PAYLOAD_BYTES}, the maximum of an event.
         */
        public Builder maxBodyBytes(int maxBodyBytes) {
            if (maxBodyBytes < 1) {
                throw new IllegalArgumentException("maxBodyBytes must be positive: " + maxBodyBytes);
            }
            this.maxBodyBytes = maxBodyBytes;
            return this;
        }

        /** How long close waits for requests in flight; at most 10 minutes, default 10 seconds. */
        public Builder drainTime(Duration drainTime) {
            this.drainTime = Durations.notNegative("drainTime", drainTime, LONGEST_LIMIT);
            return this;
        }

        /**
         * A breaker that the transport opens when the endpoint cannot be reached, returns 429 or 503 with {@code
         * Retry-After}, or accepts no event: 401, 403, 404, a redirect, or 20 refused events in a row. Then none of
         * these failures consumes an attempt. It works only if the dispatcher's {@link outbox.dispatch.Protection}
         * uses it for this listener.
         */
        public Builder breaker(CircuitBreaker breaker) {
            this.breaker = Objects.requireNonNull(breaker, "breaker");
            return this;
        }

        /** The keys and trust for https; default: those of the JVM. */
        public Builder sslContext(SSLContext sslContext) {
            this.sslContext = Objects.requireNonNull(sslContext, "sslContext");
            return this;
        }

        /** The proxy; default: that of the JVM. */
        public Builder proxy(ProxySelector proxy) {
            this.proxy = Objects.requireNonNull(proxy, "proxy");
            return this;
        }

        /** The clock for signature times and dates in {@code Retry-After}; default: the system clock. */
        public Builder clock(Clock clock) {
            this.clock = Objects.requireNonNull(clock, "clock");
            return this;
        }

        public HttpTransport build() {
            if (endpoint == null || source == null) {
                throw new IllegalArgumentException("HTTP transport " + name + " needs an endpoint and a source");
            }
            if (authorization != null && headers.containsKey("authorization")) {
                throw new IllegalArgumentException("HTTP transport " + name
                        + " has both a header Authorization and a supplier for it: remove one of them");
            }
            if (connectTimeLimit.compareTo(requestTimeLimit) > 0) {
                throw new IllegalArgumentException("connectTimeLimit " + connectTimeLimit
                        + " must not be longer than requestTimeLimit " + requestTimeLimit);
            }
            return new HttpTransport(this, endpoint, source);
        }
    }
}
