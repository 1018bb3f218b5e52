package outbox.cli;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.fault.ChildJvm;
import outbox.testing.metrics.AlertRules;
import outbox.testing.metrics.AlertRules.Question;
import outbox.testing.metrics.Scrape;
import outbox.testing.server.PostgresServer;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A healthy system raises no alarm under load: health is UP, the doctor finds nothing, no alert fires, and logs
 * contain only failed attempts. Meanwhile an application writes, two relays deliver, some events fail once and are
 * retried, and an operator replays and purges. The test runs for some seconds; {@code -Doutbox.trials.minutes=30}
 * starts a long trial.
 */
@Timeout(value = 60, unit = TimeUnit.MINUTES, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("process")
class MixedLoadTest {

    private static final int MINUTES = Integer.getInteger("outbox.trials.minutes", 0);
    private static final boolean IS_TRIAL = MINUTES > 0;
    private static final Duration LOAD = IS_TRIAL ? Duration.ofMinutes(MINUTES) : Duration.ofSeconds(8);

    // A leader loses the lead, with a warning, if its process gets no processor time for half of the interval, or if
    // the database does not reply for all of it. A trial runs on a quiet machine, with the default; the short test may
    // share a busy one.
    private static final String POLL_INTERVAL = IS_TRIAL ? "1s" : "4s";
    private static final Duration SCRAPE_EVERY = Duration.ofSeconds(IS_TRIAL ? 15 : 1);
    private static final Duration EXAMINE_EVERY = Duration.ofSeconds(IS_TRIAL ? 60 : 3);
    private static final Duration OPERATE_EVERY = Duration.ofSeconds(IS_TRIAL ? 150 : 3);
    private static final Duration RETENTION = Duration.ofMinutes(2);
    private static final String PURGE_OLDER = IS_TRIAL ? "60s" : "2s"; // of the purge by the operator
    private static final Duration LONGEST_DELAY = Duration.ofSeconds(IS_TRIAL ? 60 : 4);

    private static final Duration WRITE_EVERY = Duration.ofMillis(200);
    private static final int WRITERS = 2;
    private static final int CYCLE = 20; // steps of a writer: steady writes, then a burst, then none
    private static final int STEADY = 12;
    private static final int BURST = 15;

    private static final Duration LIMIT = Duration.ofMinutes(3);
    private static final Path RULES = Path.of("..", "ops", "prometheus", "outbox-alerts.yml");
    private static final Path DIRECTORY = Path.of("target", "mixed-load"); // input of promtool and logs, to inspect
    private static final Pattern ADDRESS = Pattern.compile("health at http://127\\.0\\.0\\.1:(\\d+)/");
    private static final Pattern LOUD = Pattern.compile("^\\S+ (WARNING|SEVERE) (.*)");
    private static final Pattern FAILED_ATTEMPT = Pattern.compile("^Delivery failed: .* outcome=retry .*");

    private final PostgresServer server = PostgresServer.start(Map.of("fsync", "on", "full_page_writes", "on"));
    private final Shop shop = Shop.at(server.createDatabase());
    private final HttpClient http = HttpClient.newHttpClient();
    private final List<ChildJvm> relays = new ArrayList<>();
    private final Map<String, Integer> ports = new LinkedHashMap<>(); // by the name of the relay
    private final LoadLedger ledger = new LoadLedger();
    private final Collection<String> troubles = new ConcurrentLinkedQueue<>();
    private final ScrapedSeries series = new ScrapedSeries();
    private final AtomicInteger examinations = new AtomicInteger(); // tables examined by the doctor
    private final AtomicInteger changes = new AtomicInteger(); // by the operator

    @AfterEach
    void endProcesses() {
        relays.forEach(ChildJvm::close);
        server.close();
    }

    @Test
    void a_healthy_system_is_silent_under_mixed_load() throws Exception {
        run("schema", "apply", "--table", "org_outbox", "--yes");
        run("schema", "apply", "--table", "mail_event", "--yes");
        Warnings warnings = new Warnings();
        try (Receiver receiver = Receiver.answering();
                LoadApplication application = new LoadApplication(shop.url(), ledger, RETENTION, LONGEST_DELAY)) {
            receiver.failIf(post -> LoadApplication.fails(post.body(), ledger.receive(post.id())));
            startRelay("relay-1", receiver);
            startRelay("relay-2", receiver);

            keep(() -> load(application));
            keep(() -> awaitQuiet(application));
            keep(this::examine);
            keep(ledger::assertBalanced);
            keep(() -> assertThat(application.delivered()).isEqualTo(committedChanges()));
            keep(this::assertNoAlert);
            relays.forEach(relay -> keep(() -> end(relay)));
        } finally {
            warnings.close();
        }
        keep(() -> assertThat(warnings.lines).isEmpty());

        System.out.printf(
                "Mixed load for %s: %s, %d scrapes, %s examinations, %s changes by the command%n",
                LOAD, ledger, series.scrapes(), examinations, changes);
        assertThat(troubles).isEmpty();
    }

    private void startRelay(String name, Receiver receiver) {
        ChildJvm relay = ChildJvm.of(Main.class)
                .jvmOptions("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
                .arguments(
                        "relay",
                        "--url",
                        shop.url(),
                        "--tables",
                        "mail_event,org_outbox",
                        "--http-endpoint",
                        receiver.url(),
                        "--poll-interval",
                        POLL_INTERVAL,
                        "--cleaner-interval",
                        "20s",
                        "--cleaner-retention",
                        RETENTION.toSeconds() + "s",
                        "--metrics-enabled",
                        "true",
                        "--bind",
                        "127.0.0.1:0")
                .start();
        relays.add(relay);
        Matcher address = ADDRESS.matcher(relay.awaitLine("health at http://", LIMIT));
        assertThat(address.find()).isTrue();
        ports.put(name, Integer.valueOf(address.group(1)));
    }

    private void load(LoadApplication application) throws InterruptedException {
        ScheduledExecutorService clock = Executors.newScheduledThreadPool(WRITERS + 4);
        for (int i = 0; i < WRITERS; i++) {
            every(clock, WRITE_EVERY, new Writer(application));
        }
        every(clock, SCRAPE_EVERY, () -> look(application));
        every(clock, EXAMINE_EVERY, this::examine);
        every(clock, OPERATE_EVERY, this::operate);
        clock.schedule(clock::shutdown, LOAD.toMillis(), TimeUnit.MILLISECONDS); // running steps end by themselves

        assertThat(clock.awaitTermination(LOAD.plus(LIMIT).toMillis(), TimeUnit.MILLISECONDS))
                .as("whether all steps have ended")
                .isTrue();
    }

    private void every(ScheduledExecutorService clock, Duration interval, Step step) {
        long millis = interval.toMillis();
        clock.scheduleWithFixedDelay(() -> keep(step), millis, millis, TimeUnit.MILLISECONDS);
    }

    /** A part of the trial. */
    private interface Step {
        void take() throws Exception;
    }

    /** Keeps a failure until the end, so that a trial reports all of them. */
    private void keep(Step step) {
        try {
            step.take();
        } catch (Exception | AssertionError e) {
            troubles.add(Instant.now() + " " + e);
        }
    }

    private static final class Writer implements Step {
        private final LoadApplication application;
        private int steps; // one thread at a time

        Writer(LoadApplication application) {
            this.application = application;
        }

        @Override
        public void take() throws Exception {
            int step = steps++ % CYCLE;
            int transactions = step < STEADY ? 1 : step == STEADY ? BURST : 0;
            for (int i = 0; i < transactions; i++) {
                application.write();
            }
        }
    }

    /** Health and metrics of all processes; a process that does not respond has no samples. */
    private Map<String, Scrape> look(LoadApplication application) {
        Map<String, Scrape> scrapes = new LinkedHashMap<>();
        ports.forEach((name, port) -> keep(() -> {
            scrapes.put(name, Scrape.of(get(port, "/debug/prometheus").body()));
            HttpResponse<String> health = get(port, "/health");
            assertThat(health.body()).contains("\"status\":\"UP\"").doesNotContain("DOWN");
            assertThat(health.statusCode()).as(health.body()).isEqualTo(200);
        }));
        scrapes.put("application", Scrape.of(application.scrape()));
        series.add(scrapes);
        return scrapes;
    }

    private HttpResponse<String> get(int port, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(Duration.ofSeconds(60))
                .build();
        return http.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private void examine() {
        for (String table : LoadApplication.TABLES) {
            Findings.assertSilent(Shop.run(shop.url(), "doctor", "--table", table));
            examinations.incrementAndGet();
        }
    }

    /** Replays the last delivered event of each table, then purges old events. */
    private void operate() throws Exception {
        for (String table : LoadApplication.TABLES) {
            String end = table.endsWith("_outbox") ? "published_at" : "done_at";
            String eventId = shop.ask("SELECT COALESCE((SELECT event_id::text FROM " + table + " WHERE " + end
                    + " IS NOT NULL ORDER BY " + end + " DESC LIMIT 1), '')");
            if (!eventId.isEmpty()) {
                run("replay", eventId, "--table", table, "--status", "DONE", "--reason", "asked for", "--yes");
                ledger.replayed(eventId);
            }
            run("purge", "--table", table, "--retention", PURGE_OLDER, "--reason", "old", "--yes");
        }
    }

    private void run(String... arguments) {
        Run run = Shop.run(shop.url(), arguments);
        assertThat(run.exitCode()).as(run.out() + run.err()).isEqualTo(ExitCode.OK);
        changes.incrementAndGet();
    }

    /** Waits until everything is delivered and the meters show it. */
    private void awaitQuiet(LoadApplication application) throws Exception {
        await().atMost(LIMIT)
                .until(() -> shop.ask("SELECT (SELECT COUNT(*) FROM outbox_event WHERE status IN (0, 2))"
                                + " + (SELECT COUNT(*) FROM mail_event WHERE status IN (0, 2))"
                                + " + (SELECT COUNT(*) FROM org_outbox WHERE published_at IS NULL)")
                        .equals("0"));
        await().atMost(LIMIT)
                .pollInterval(SCRAPE_EVERY)
                .until(() -> look(application).values().stream()
                        .flatMap(scrape -> scrape.samples().stream())
                        .filter(sample -> sample.name().equals("outbox_waiting"))
                        .noneMatch(sample -> sample.value() > 0));
    }

    /**
     * Evaluates the alerts over the time of the load, and over two more hours in which the last values stay
     * unchanged.
     */
    private void assertNoAlert() throws Exception {
        AlertRules rules = AlertRules.of(RULES);
        Duration last = SCRAPE_EVERY.multipliedBy(series.scrapes() - 1L);

        Path loaded = Files.createDirectories(DIRECTORY.resolve("loaded"));
        rules.check(SCRAPE_EVERY, List.of(Question.silence("loaded", series.all(), last)), loaded);
        Path steady = Files.createDirectories(DIRECTORY.resolve("steady"));
        rules.check(
                Duration.ofMinutes(1),
                List.of(Question.silence("steady", series.steady(), Duration.ofHours(2))),
                steady);
    }

    /** The numbers of all committed changes, by order. */
    private Map<String, List<Integer>> committedChanges() throws Exception {
        Map<String, List<Integer>> numbers = new TreeMap<>();
        try (Connection connection = shop.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT id, changes FROM orders WHERE changes > 0")) {
            while (row.next()) {
                numbers.put(
                        row.getString(1),
                        IntStream.rangeClosed(1, row.getInt(2)).boxed().toList());
            }
        }
        return numbers;
    }

    /** Ends the relay, so that its log is complete. */
    private static void end(ChildJvm relay) throws IOException {
        relay.terminate();
        int exitCode = relay.waitFor(LIMIT);
        Files.write(Files.createDirectories(DIRECTORY).resolve("relay-" + relay.pid() + ".log"), relay.lines());

        assertThat(exitCode).isZero();
        assertThat(relay.lines()).contains("Relay: stopped");
        assertThat(relay.lines().stream().filter(MixedLoadTest::isLoud)).isEmpty();
    }

    private static boolean isLoud(String line) {
        Matcher loud = LOUD.matcher(line);
        return loud.matches() && !FAILED_ATTEMPT.matcher(loud.group(2)).matches();
    }

    /** Collects the warnings of the library in this process, except failed attempts. */
    private static final class Warnings extends Handler {
        private final Collection<String> lines = new ConcurrentLinkedQueue<>();
        // a strong reference; the log manager keeps a weak one
        private final Logger logger = Logger.getLogger("outbox");

        Warnings() {
            setLevel(Level.WARNING);
            logger.addHandler(this);
        }

        @Override
        public void publish(LogRecord record) {
            String message = String.valueOf(record.getMessage());
            if (isLoggable(record) && !FAILED_ATTEMPT.matcher(message).matches()) {
                lines.add(record.getLevel() + " " + message);
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {
            logger.removeHandler(this);
        }
    }
}
