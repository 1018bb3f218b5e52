package outbox.cli;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** A local HTTP endpoint that keeps the requests it receives. */
final class Receiver implements AutoCloseable {

    /** The content of one request. */
    record Post(String id, String type, String body) {}

    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Post> posts = new CopyOnWriteArrayList<>();
    private volatile String poison = ""; // the refused event type
    private final CountDownLatch open = new CountDownLatch(1); // responses wait for it
    private volatile int status = 204;
    private volatile Predicate<Post> failing = post -> false;
    private volatile @Nullable String credentials; // the required header Authorization, if any

    private Receiver(int port, boolean answers) throws IOException {
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.setExecutor(threads);
        server.createContext("/events", this::receive);
        server.start();
        if (answers) {
            open.countDown();
        }
    }

    static Receiver answering() throws IOException {
        return answeringAt(0);
    }

    static Receiver answeringAt(int port) throws IOException {
        return new Receiver(port, true);
    }

    /** Responds with this status from now on. */
    void answer(int newStatus) {
        status = newStatus;
    }

    /** Responds with 500 to requests that match the condition. The condition runs once per request, on arrival. */
    void failIf(Predicate<Post> condition) {
        failing = condition;
    }

    /** Responds with 401 to requests with another header Authorization, and quotes that header. */
    void require(String authorization) {
        credentials = authorization;
    }

    /** Accepts requests, and responds to none until it is closed. */
    static Receiver hanging() throws IOException {
        return new Receiver(0, false);
    }

    private void receive(HttpExchange exchange) throws IOException {
        try (exchange) {
            String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            Post post = new Post(
                    String.valueOf(exchange.getRequestHeaders().getFirst("ce-id")),
                    String.valueOf(exchange.getRequestHeaders().getFirst("ce-type")),
                    body);
            posts.add(post);
            boolean fails = failing.test(post);
            String given = exchange.getRequestHeaders().getFirst("Authorization");
            if (open.await(60, TimeUnit.SECONDS)) {
                if (credentials == null || credentials.equals(given)) {
                    exchange.sendResponseHeaders(fails ? 500 : post.type().equals(poison) ? 422 : status, -1);
                } else {
                    byte[] answer = ("Not for you: " + given).getBytes(StandardCharsets.UTF_8);
                    exchange.sendResponseHeaders(401, answer.length);
                    exchange.getResponseBody().write(answer);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Refuses events of this type permanently from now on; an empty type refuses none. */
    void refuse(String type) {
        poison = type;
    }

    String url() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/events";
    }

    List<Post> posts() {
        return posts;
    }

    @Override
    public void close() {
        open.countDown();
        server.stop(0);
        threads.shutdownNow();
    }
}
