package outbox.samples.course;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import outbox.reconcile.ReconcileRun;
import outbox.reconcile.Reconciler;
import outbox.util.JsonCodec;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The use cases over HTTP. Listens on the loopback interface only. */
final class CourseApi implements AutoCloseable {

    private static final Logger LOG = System.getLogger(CourseApi.class.getName());

    private static final int THREADS = 16;
    private static final int MAX_BODY = 4096;

    private static final Pattern SESSION = Pattern.compile("/sessions/([0-9]{1,18})(/enrollments|/close)?");
    private static final Pattern ENROLLMENT = Pattern.compile("/enrollments/([0-9]{1,18})");
    private static final Pattern RECONCILE = Pattern.compile("/reconcile/([a-z-]{1,64})");

    /** The HTTP response. */
    private record Response(int status, String type, String body) {

        Response(int status, String json) {
            this(status, "application/json", json);
        }

        static Response of(Answer answer) {
            String id = answer.id() == null ? "" : ",\"id\":" + answer.id();
            return new Response(answer.outcome().status(), "{\"answer\":\"" + answer.outcome() + "\"" + id + "}");
        }

        static Response problem(int status, String answer) {
            return new Response(status, "{\"answer\":\"" + answer + "\"}");
        }
    }

    private final CourseDatabase database;
    private final UseCases useCases;
    private final Reconciler reconciler;
    private final Supplier<String> metrics;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);

    CourseApi(int port, CourseDatabase database, UseCases useCases, Reconciler reconciler, Supplier<String> metrics)
            throws IOException {
        this.database = database;
        this.useCases = useCases;
        this.reconciler = reconciler;
        this.metrics = metrics;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
    }

    void start() {
        server.start();
    }

    int port() {
        return server.getAddress().getPort();
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            Response response = answer(exchange);
            byte[] body = response.body().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", response.type());
            exchange.sendResponseHeaders(response.status(), body.length);
            exchange.getResponseBody().write(body);
        }
    }

    private Response answer(HttpExchange exchange) throws IOException {
        try {
            return route(exchange);
        } catch (IllegalArgumentException e) { // the request is invalid
            return Response.problem(400, "BAD_REQUEST");
        } catch (SQLException | RuntimeException e) {
            LOG.log(Level.ERROR, "A request failed", e);
            return Response.problem(500, "FAILED");
        }
    }

    private Response route(HttpExchange exchange) throws SQLException, IOException {
        String path = exchange.getRequestURI().getPath();
        String request = exchange.getRequestMethod() + " " + path;
        if (request.equals("POST /sessions")) {
            Map<String, String> body = body(exchange);
            int capacity = (int) number(body, "capacity", 1, 1_000_000);
            return Response.of(useCases.openSession(capacity, (int) number(body, "fee", 0, 1_000_000)));
        }
        if (request.equals("GET /metrics")) {
            return new Response(200, "text/plain; version=0.0.4", metrics.get());
        }
        if (request.equals("GET /reconcile")) {
            return new Response(200, runs());
        }
        Matcher session = SESSION.matcher(path);
        if (session.matches()) {
            long id = Long.parseLong(session.group(1));
            return switch (exchange.getRequestMethod() + (session.group(2) == null ? "" : session.group(2))) {
                case "GET" -> show(id);
                case "POST/enrollments" ->
                    Response.of(useCases.enroll(id, number(body(exchange), "learnerId", 0, Long.MAX_VALUE)));
                case "POST/close" -> Response.of(useCases.closeSession(id));
                default -> Response.problem(405, "NOT_ALLOWED");
            };
        }
        Matcher enrollment = ENROLLMENT.matcher(path);
        if (enrollment.matches() && exchange.getRequestMethod().equals("DELETE")) {
            return Response.of(useCases.cancel(Long.parseLong(enrollment.group(1))));
        }
        Matcher job = RECONCILE.matcher(path);
        if (job.matches() && exchange.getRequestMethod().equals("POST")) {
            return reconciler
                    .run(job.group(1))
                    .map(run -> new Response(200, json(run)))
                    .orElse(Response.problem(409, "RUNNING"));
        }
        return Response.problem(404, "NOT_FOUND");
    }

    private static Map<String, String> body(HttpExchange exchange) throws IOException {
        try (InputStream body = exchange.getRequestBody()) {
            return JsonCodec.parseObject(new String(body.readNBytes(MAX_BODY), StandardCharsets.UTF_8));
        }
    }

    private static long number(Map<String, String> body, String name, long min, long max) {
        String value = body.getOrDefault(name, "");
        if (value.matches("[0-9]{1,18}")) {
            long number = Long.parseLong(value);
            if (number >= min && number <= max) {
                return number;
            }
        }
        throw new IllegalArgumentException(name + " must be a whole number from " + min + " to " + max);
    }

    private Response show(long id) throws SQLException {
        if (database.count("SELECT COUNT(*) FROM course_sessions WHERE id = ?", id) == 0) {
            return Response.problem(404, "NOT_FOUND");
        }
        long taken = database.count("SELECT taken FROM course_sessions WHERE id = ?", id);
        long notifications = database.count("""
                SELECT COUNT(*)
                  FROM notification n
                  JOIN participation_enrollment e ON e.id = n.enrollment_id
                 WHERE e.session_id = ?
                """, id);
        long payouts = database.count("SELECT COUNT(*) FROM payout WHERE session_id = ?", id);
        long paid = database.count("SELECT COALESCE(SUM(amount), 0) FROM payout WHERE session_id = ?", id);
        return new Response(
                200,
                "{\"taken\":%d,\"notifications\":%d,\"payouts\":%d,\"paid\":%d}"
                        .formatted(taken, notifications, payouts, paid));
    }

    private String runs() {
        return reconciler.runs(100).stream().map(CourseApi::json).collect(Collectors.joining(",", "[", "]"));
    }

    private static String json(ReconcileRun run) {
        return "{\"job\":\"%s\",\"startedAt\":\"%s\",\"found\":%d,\"fixed\":%d,\"failed\":%b}"
                .formatted(run.job(), run.startedAt(), run.found(), run.fixed(), run.error() != null);
    }

    /**
     * Lets running requests finish. Their responses may be lost; a client that repeats its request gets the outcome.
     */
    @Override
    public void close() {
        server.stop(0);
        threads.shutdown();
        try {
            if (!threads.awaitTermination(5, TimeUnit.SECONDS)) {
                LOG.log(Level.WARNING, "Requests are still under way");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
