package outbox.cli;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import outbox.internal.text.SafeLogger;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Serves {@code /health}, and metrics if enabled, with the HTTP server of the JDK. If a token is set, every request
 * must contain it.
 *
 * <p>An incomplete request occupies a thread until it is complete. Therefore there are many threads, and requests
 * have a short time limit: a client that sends incomplete requests can occupy at most {@value #THREADS} threads. The
 * server closes further connections at once.
 */
final class HealthServer implements AutoCloseable {

    /** The health of the process. */
    record Health(boolean isUp, String json) {}

    private static final Logger LOG = SafeLogger.of(HealthServer.class);
    private static final int THREADS = 256;
    private static final int BACKLOG = 256; // connections that are not accepted yet
    private static final long STACK_BYTES = 256 * 1024;

    static {
        limit("sun.net.httpserver.maxReqTime", 3);
        limit("sun.net.httpserver.maxRspTime", 10);
    }

    private final RelaySettings.Server settings;
    private final HttpServer server;
    private final ThreadPoolExecutor threads = new ThreadPoolExecutor(
            1,
            THREADS,
            10,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(), // start a thread instead of queueing behind incomplete requests
            task -> {
                Thread thread = new Thread(null, task, "outbox-relay-http", STACK_BYTES);
                thread.setDaemon(true);
                return thread;
            });

    private HealthServer(RelaySettings.Server settings, HttpServer server) {
        this.settings = settings;
        this.server = server;
    }

    private static void limit(String property, int seconds) {
        if (System.getProperty(property) == null) {
            System.setProperty(property, Integer.toString(seconds)); // the server reads it once
        }
    }

    /** @throws SettingsException if the server cannot listen at the address */
    static HealthServer start(RelaySettings.Server settings, Supplier<Health> health, Supplier<String> metrics) {
        HttpServer http;
        try {
            http = HttpServer.create(settings.bind(), BACKLOG);
        } catch (IOException e) {
            throw new SettingsException("Cannot listen at " + settings.bind() + ": " + e.getMessage() + ". Change "
                    + Setting.SERVER_BIND.key() + ", or end what uses it.");
        }
        HealthServer server = new HealthServer(settings, http);
        http.setExecutor(server.threads);
        http.createContext(
                "/health",
                exchange -> server.answer(exchange, "/health", () -> {
                    Health now = health.get();
                    return new Reply(now.isUp() ? 200 : 503, "application/json", now.json());
                }));
        settings.metricsPath()
                .ifPresent(path -> http.createContext(
                        path,
                        exchange -> server.answer(
                                exchange,
                                path,
                                () -> new Reply(200, "text/plain; version=0.0.4; charset=utf-8", metrics.get()))));
        http.start();
        return server;
    }

    private record Reply(int status, String type, String body) {}

    int port() {
        return server.getAddress().getPort();
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }

    private void answer(HttpExchange exchange, String path, Supplier<Reply> source) throws IOException {
        try (exchange) {
            Reply reply = reply(exchange, path, source);
            byte[] body = reply.body().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", reply.type());
            exchange.getResponseHeaders().set("Cache-Control", "no-store");
            boolean isHead = exchange.getRequestMethod().equals("HEAD");
            exchange.sendResponseHeaders(reply.status(), isHead || body.length == 0 ? -1 : body.length);
            if (!isHead && body.length > 0) {
                try (OutputStream out = exchange.getResponseBody()) {
                    out.write(body);
                }
            }
        }
    }

    private Reply reply(HttpExchange exchange, String path, Supplier<Reply> source) {
        if (!isAllowed(exchange)) {
            exchange.getResponseHeaders().set("WWW-Authenticate", "Bearer");
            return text(401, "A bearer token is needed.\n");
        }
        if (!exchange.getRequestURI().getPath().equals(path)) {
            return text(404, "There is /health, and metrics if they are on.\n");
        }
        if (!exchange.getRequestMethod().equals("GET")
                && !exchange.getRequestMethod().equals("HEAD")) {
            return text(405, "Only GET and HEAD.\n");
        }
        try {
            return source.get();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "Cannot answer " + path, e);
            return text(500, "See the log.\n");
        }
    }

    private static Reply text(int status, String text) {
        return new Reply(status, "text/plain; charset=utf-8", text);
    }

    private boolean isAllowed(HttpExchange exchange) {
        if (settings.token().isEmpty()) {
            return true;
        }
        String given = exchange.getRequestHeaders().getFirst("Authorization");
        byte[] wanted = ("Bearer " + settings.token().get()).getBytes(StandardCharsets.UTF_8);
        return given != null && MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), wanted);
    }
}
