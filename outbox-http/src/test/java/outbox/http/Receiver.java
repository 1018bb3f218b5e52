package outbox.http;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * An HTTP server on a loopback port that records requests. Its single thread responds at once; a request that it
 * leaves open can be completed later.
 */
final class Receiver implements AutoCloseable {

    @SuppressWarnings("ArrayRecordComponent") // nobody compares them
    record Received(String method, String path, Headers headers, byte[] body) {
        String header(String name) {
            List<String> values = headers.get(name);
            if (values == null || values.size() != 1) {
                throw new AssertionError("Not one header " + name + ": " + values);
            }
            return values.get(0);
        }

        boolean has(String name) {
            return headers.containsKey(name);
        }

        String text() {
            return new String(body, StandardCharsets.UTF_8);
        }
    }

    interface Reaction {
        void to(HttpExchange exchange) throws IOException;
    }

    final List<Received> received = new CopyOnWriteArrayList<>();
    volatile Reaction reaction = status(200);
    private final HttpServer server;
    private final AtomicBoolean closed = new AtomicBoolean();

    Receiver() {
        this(0);
    }

    Receiver(int port) {
        try {
            server = HttpServer.create(address(port), 1000);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        server.createContext("/", this::handle);
        server.start();
    }

    @SuppressWarnings("AddressSelection") // it is a number, so there is nothing to look up
    static InetSocketAddress address(int port) {
        return new InetSocketAddress("127.0.0.1", port);
    }

    private void handle(HttpExchange exchange) throws IOException {
        received.add(new Received(
                exchange.getRequestMethod(),
                exchange.getRequestURI().toString(),
                exchange.getRequestHeaders(),
                exchange.getRequestBody().readAllBytes()));
        reaction.to(exchange);
    }

    static Reaction status(int status) {
        return answer(status, "");
    }

    static Reaction answer(int status, String text, String... headers) {
        byte[] body = text.getBytes(StandardCharsets.UTF_8);
        return exchange -> {
            for (int i = 0; i < headers.length; i += 2) {
                exchange.getResponseHeaders().add(headers[i], headers[i + 1]);
            }
            exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
            if (body.length > 0) {
                exchange.getResponseBody().write(body);
            }
            exchange.close();
        };
    }

    int port() {
        return server.getAddress().getPort();
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + port() + "/events?tenant=1");
    }

    Received only() {
        if (received.size() != 1) {
            throw new AssertionError("Not one request: " + received);
        }
        return received.get(0);
    }

    @Override
    public void close() {
        if (!closed.getAndSet(true)) {
            server.stop(0);
        }
    }
}
