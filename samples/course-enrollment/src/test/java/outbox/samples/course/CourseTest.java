package outbox.samples.course;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventListener;
import outbox.registry.ListenerRegistry;
import outbox.samples.course.Answer.Outcome;
import outbox.samples.course.Options.Store;

import java.net.http.HttpResponse;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongUnaryOperator;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.awaitility.Awaitility.await;

/** The same use cases and guarantees, with events in memory and in the database. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CourseTest {

    private static final int THREADS = 100;
    private static final int PLACES = 30;

    private static Course started(Store store) throws Exception {
        return started(store, Duration.ZERO, Map.of());
    }

    private static Course started(Store store, Duration slowness, Map<String, String> environment) throws Exception {
        Course course =
                new Course(new Options(store, null, 0, Duration.ofSeconds(1), Duration.ZERO, slowness), environment);
        course.start();
        return course;
    }

    /** Returns the path of the enrolment in the response. */
    private static String enrollment(String answer) {
        return "/enrollments/" + answer.replaceAll(".*\"id\":([0-9]+).*", "$1");
    }

    /** Waits for the effects, then runs both jobs once more. They must find nothing. */
    private static void assertSettles(Client client, long session, String expected) {
        await().atMost(Duration.ofSeconds(20))
                .untilAsserted(() -> assertThat(client.show(session)).isEqualTo(expected));
        for (String job : List.of(ReconcileJobs.ENROLLMENT, ReconcileJobs.SESSION_PAYOUT)) {
            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() -> assertThat(
                                    client.post("/reconcile/" + job, "").body())
                            .contains("\"found\":0,\"fixed\":0,\"failed\":false"));
        }
        assertThat(client.show(session)).isEqualTo(expected);
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void an_enrolment_is_followed_by_a_notification_and_a_closed_session_by_a_payout(Store store) throws Exception {
        try (Course course = started(store)) {
            Client client = new Client(course.port());
            long session = client.openSession(2);

            assertThat(client.enroll(session, 7).statusCode()).isEqualTo(201);
            assertThat(client.enroll(session, 8).body()).startsWith("{\"answer\":\"CREATED\",\"id\":");
            assertThat(client.enroll(session, 9).body()).isEqualTo("{\"answer\":\"FULL\"}");
            assertThat(client.post("/sessions/" + session + "/close", "").statusCode())
                    .isEqualTo(200);
            assertThat(client.post("/sessions/" + session + "/close", "").body())
                    .contains("ALREADY_DONE");
            assertThat(client.enroll(session, 9).body()).isEqualTo("{\"answer\":\"FINISHED\"}");

            assertSettles(client, session, "{\"taken\":2,\"notifications\":2,\"payouts\":1,\"paid\":20}");
        }
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void a_repeated_enrolment_answers_already_exists_and_its_effect_happens_once(Store store) throws Exception {
        try (Course course = started(store)) {
            Client client = new Client(course.port());
            long session = client.openSession(1);
            String created = client.enroll(session, 7).body();

            for (int i = 0; i < 5; i++) { // the session is full, but the learner is already enrolled
                HttpResponse<String> repeated = client.enroll(session, 7);
                assertThat(repeated.statusCode()).isEqualTo(200);
                assertThat(repeated.body()).isEqualTo(created.replace("CREATED", "ALREADY_EXISTS"));
            }

            assertSettles(client, session, "{\"taken\":1,\"notifications\":1,\"payouts\":0,\"paid\":0}");
        }
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void a_hundred_threads_at_once_never_exceed_the_capacity(Store store) throws Exception {
        try (Course course = started(store)) {
            Client client = new Client(course.port());
            long session = client.openSession(PLACES);

            Map<Outcome, Long> answers = enrollAtOnce(course, session, thread -> thread);

            assertThat(answers)
                    .isEqualTo(Map.of(Outcome.CREATED, (long) PLACES, Outcome.FULL, (long) THREADS - PLACES));
            assertSettles(client, session, "{\"taken\":30,\"notifications\":30,\"payouts\":0,\"paid\":0}");
        }
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void a_hundred_threads_enrol_the_same_learner_once(Store store) throws Exception {
        try (Course course = started(store)) {
            Client client = new Client(course.port());
            long session = client.openSession(PLACES);

            Map<Outcome, Long> answers = enrollAtOnce(course, session, thread -> 7);

            assertThat(answers).isEqualTo(Map.of(Outcome.CREATED, 1L, Outcome.ALREADY_EXISTS, THREADS - 1L));
            assertSettles(client, session, "{\"taken\":1,\"notifications\":1,\"payouts\":0,\"paid\":0}");
        }
    }

    private static Map<Outcome, Long> enrollAtOnce(Course course, long session, LongUnaryOperator learner)
            throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        CountDownLatch ready = new CountDownLatch(THREADS);
        try {
            List<Future<Outcome>> asked = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                int thread = i;
                asked.add(threads.submit(() -> {
                    ready.countDown();
                    assertThat(ready.await(20, TimeUnit.SECONDS)).isTrue();
                    return course.useCases()
                            .enroll(session, learner.applyAsLong(thread))
                            .outcome();
                }));
            }
            List<Outcome> answers = new ArrayList<>();
            for (Future<Outcome> answer : asked) {
                answers.add(answer.get(30, TimeUnit.SECONDS));
            }
            return answers.stream().collect(Collectors.groupingBy(answer -> answer, Collectors.counting()));
        } finally {
            threads.shutdownNow();
        }
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void facts_whose_event_was_never_written_are_found_and_take_effect_once(Store store) throws Exception {
        try (Course course = started(store)) {
            Client client = new Client(course.port());
            long session = client.openSession(PLACES);
            course.database().inTransaction(connection -> {
                try (Statement past = connection.createStatement()) {
                    past.execute("INSERT INTO participation_enrollment (session_id, learner_id) SELECT " + session
                            + ", x FROM SYSTEM_RANGE(1, 12)");
                    past.execute("INSERT INTO participation_enrollment (session_id, learner_id, cancelled_at) VALUES ("
                            + session + ", 99, CURRENT_TIMESTAMP)");
                    return past.executeUpdate("UPDATE course_sessions SET taken = 12, status = 'FINISHED',"
                            + " finished_at = CURRENT_TIMESTAMP WHERE id = " + session);
                }
            });

            assertSettles(client, session, "{\"taken\":12,\"notifications\":12,\"payouts\":1,\"paid\":120}");
            assertThat(client.get("/reconcile").body())
                    .contains("\"job\":\"enrollment\"", "\"job\":\"session-payout\"", "\"fixed\":12", "\"fixed\":1,");
        }
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void a_key_that_comes_again_has_no_second_effect(Store store) throws Exception {
        try (CourseDatabase database = new CourseDatabase(null)) {
            Events events = store == Store.JDBC ? Events.inDatabase(database) : Events.inMemory(database, true);
            ListenerRegistry listeners = new Effects(database, Duration.ZERO).listeners(events.inbox());
            EventListener onCreated = Objects.requireNonNull(
                    listeners.listenerFor(CourseEvents.ENROLLMENT, CourseEvents.ENROLLMENT_CREATED));
            EventListener onClosed =
                    Objects.requireNonNull(listeners.listenerFor(CourseEvents.SESSION, CourseEvents.SESSION_CLOSED));
            database.inTransaction(connection -> {
                try (Statement past = connection.createStatement()) {
                    past.execute("INSERT INTO course_sessions (capacity, fee) VALUES (5, 10)");
                    return past.executeUpdate(
                            "INSERT INTO participation_enrollment (session_id, learner_id) VALUES (1, 7), (1, 8)");
                }
            });

            for (long enrollment : List.of(1L, 1L, 2L, 1L)) { // each event has its own id
                onCreated.onEvent(
                        CourseEvents.enrollmentCreated(enrollment, 1, 7).build());
                onClosed.onEvent(CourseEvents.sessionClosed(1).build());
            }

            assertThat(database.count("SELECT COUNT(*) FROM notification WHERE enrollment_id = ?", 1))
                    .isEqualTo(1);
            assertThat(database.count("SELECT COUNT(*) FROM notification WHERE enrollment_id = ?", 2))
                    .isEqualTo(1);
            assertThat(database.count("SELECT COUNT(*) FROM payout WHERE session_id = ?", 1))
                    .isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void a_cancelled_enrolment_gives_its_place_back(Store store) throws Exception {
        try (Course course = started(store)) {
            Client client = new Client(course.port());
            long session = client.openSession(1);
            String enrollment = enrollment(client.enroll(session, 7).body());

            assertThat(client.send("DELETE", enrollment, "").statusCode()).isEqualTo(200);
            assertThat(client.send("DELETE", enrollment, "").statusCode()).isEqualTo(404);
            assertThat(client.enroll(session, 8).statusCode()).isEqualTo(201);
            assertThat(client.enroll(session, 7).body()).contains("ALREADY_EXISTS");
            assertThat(client.show(session)).contains("\"taken\":1");
        }
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void a_cancellation_after_the_session_was_closed_is_refused_and_lowers_no_payout(Store store) throws Exception {
        try (Course course = started(store, Duration.ofMillis(300), Map.of())) { // the payout is computed later
            Client client = new Client(course.port());
            long session = client.openSession(2);
            client.enroll(session, 7);
            String enrolled = client.enroll(session, 8).body();
            client.post("/sessions/" + session + "/close", "");

            HttpResponse<String> cancelled = client.send("DELETE", enrollment(enrolled), "");

            assertThat(cancelled.statusCode()).isEqualTo(409);
            assertThat(cancelled.body()).isEqualTo("{\"answer\":\"FINISHED\"}");
            assertSettles(client, session, "{\"taken\":2,\"notifications\":2,\"payouts\":1,\"paid\":20}");
        }
    }

    @Test
    void whoever_cancels_while_the_session_is_being_closed_waits_and_is_refused() throws Exception {
        try (Course course = started(Store.MEMORY)) {
            Client client = new Client(course.port());
            long session = client.openSession(2);
            client.enroll(session, 7);
            String enrolled = client.enroll(session, 8).body();
            ExecutorService canceller = Executors.newSingleThreadExecutor();
            try {
                Future<HttpResponse<String>> cancelled = course.database().inTransaction(closing -> {
                    try (Statement statement = closing.createStatement()) {
                        statement.execute("UPDATE course_sessions SET status = 'FINISHED',"
                                + " finished_at = CURRENT_TIMESTAMP WHERE id = " + session);
                    }
                    Future<HttpResponse<String>> asked =
                            canceller.submit(() -> client.send("DELETE", enrollment(enrolled), ""));
                    awaitBlocked(course.database());
                    return asked;
                });

                assertThat(cancelled.get(20, TimeUnit.SECONDS).body()).isEqualTo("{\"answer\":\"FINISHED\"}");
            } finally {
                canceller.shutdownNow();
            }
            assertSettles(client, session, "{\"taken\":2,\"notifications\":2,\"payouts\":1,\"paid\":20}");
        }
    }

    /** Waits until a transaction waits for the lock of another one. */
    private static void awaitBlocked(CourseDatabase database) {
        String waiting = "SELECT COUNT(*) FROM INFORMATION_SCHEMA.SESSIONS WHERE BLOCKER_ID > ?";
        await().atMost(Duration.ofSeconds(10)).until(() -> database.count(waiting, 0) > 0);
    }

    @Test
    void the_environment_sets_the_schedule_of_each_job_and_one_that_is_wrong_is_refused_by_name() throws Exception {
        Map<String, String> environment =
                Map.of("RECONCILE_ENROLLMENT_CRON", "*/5 * * * *", "RECONCILE_SESSION_PAYOUT_CRON", "30 3 * * MON");
        try (Course course = started(Store.MEMORY, Duration.ZERO, environment)) {
            assertThat(course.reconciler().jobs())
                    .extracting(job -> job.job() + ": " + job.schedule())
                    .containsExactly(
                            "enrollment: cron */5 * * * * " + ZoneId.systemDefault(),
                            "session-payout: cron 30 3 * * MON " + ZoneId.systemDefault());
        }
        try (Course course = started(Store.MEMORY)) {
            assertThat(course.reconciler().jobs())
                    .extracting(job -> job.job() + ": " + job.schedule())
                    .containsExactly("enrollment: every PT1S", "session-payout: every PT1S");
        }
        for (String name : environment.keySet()) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> started(Store.MEMORY, Duration.ZERO, Map.of(name, "each minute")))
                    .withMessageContainingAll(name, "each minute");
        }
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void the_environment_sets_the_delivery_and_a_name_that_is_unknown_is_refused(Store store) throws Exception {
        Map<String, String> environment = Map.of(
                "INTEV_ENABLED", "true",
                "INTEV_DISPATCH_INTERVAL_MS", "100",
                "INTEV_BATCH_SIZE", "7",
                "INTEV_MAX_ATTEMPTS", "2",
                "INTEV_BACKOFF_SERIES", "[50]",
                "RECONCILE_ENROLLMENT_CRON", "30 0 0 1 1 *", // six fields, with seconds; not due during this test
                "RECONCILE_SESSION_PAYOUT_CRON", "30 0 0 1 1 *");
        try (DeliveryLines lines = new DeliveryLines();
                Course course = started(store, Duration.ZERO, environment)) {
            Client client = new Client(course.port());
            long session = client.openSession(2);
            try (Connection connection = course.database().dataSource().getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("ALTER TABLE notification RENAME TO notification_away");
                client.enroll(session, 7);
                await().atMost(Duration.ofSeconds(20))
                        .untilAsserted(() -> assertThat(metric(client, "events_failed_total"))
                                .isEqualTo("1")); // after two attempts, not five
                statement.execute("ALTER TABLE notification_away RENAME TO notification");
            }

            assertThat(metric(client, "events_enqueued_total")).isEqualTo("1");
            assertThat(metric(client, "events_retry_total")).isEqualTo("1");
            assertThat(metric(client, "events_dispatched_total")).isEqualTo("0");
            assertThat(metric(client, "events_in_memory_queue_gauge")).isEqualTo("0");
            assertThat(metric(client, "reconcile_fixed_total{job=\"enrollment\"}"))
                    .isEqualTo("0");
            assertThat(lines.all())
                    .hasSize(2)
                    .allSatisfy(line -> assertThat(line)
                            .contains(
                                    "type=",
                                    "EnrollmentCreated",
                                    "dedupKey=",
                                    "enrollment:1",
                                    "aggregateType=",
                                    "aggregateId=",
                                    "latencyMs=",
                                    "error="))
                    .satisfiesExactly(
                            first -> assertThat(first).contains("attempt=1"),
                            second -> assertThat(second).contains("attempt=2"));

            client.enroll(session, 8);
            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() -> assertThat(metric(client, "events_dispatched_total"))
                            .isEqualTo("1"));
        }
        assertThatIllegalArgumentException()
                .isThrownBy(() -> started(store, Duration.ZERO, Map.of("INTEV_BATCHSIZE", "7")))
                .withMessageContaining("INTEV_BATCHSIZE");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> started(store, Duration.ZERO, Map.of("INTEV_MAX_ATTEMPTS", "many")))
                .withMessageContaining("INTEV_MAX_ATTEMPTS");
    }

    /** Only in the database, where claims and due times are visible. The wiring is the same for both stores. */
    @Test
    void the_environment_sets_the_interval_the_batch_size_and_the_waits_after_failures() throws Exception {
        Map<String, String> environment = Map.of(
                "INTEV_DISPATCH_INTERVAL_MS", "700",
                "INTEV_BATCH_SIZE", "7",
                "INTEV_BACKOFF_SERIES", "[3600000]",
                "RECONCILE_ENROLLMENT_CRON", "0 0 1 1 *", // not due during this test
                "RECONCILE_SESSION_PAYOUT_CRON", "0 0 1 1 *");
        try (Course course = started(Store.JDBC, Duration.ZERO, environment);
                Connection connection = course.database().dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            Client client = new Client(course.port());
            long session = client.openSession(2);
            statement.execute("CREATE TABLE claimed (token VARCHAR(128), event_id VARCHAR(36))");
            statement.execute("CREATE TRIGGER claims AFTER UPDATE ON outbox_event FOR EACH ROW CALL '"
                    + ClaimTrigger.class.getName() + "'");
            statement.execute("INSERT INTO outbox_event (event_id, event_type, payload, status, available_at,"
                    + " created_at) SELECT 'e' || x, 'NobodyListens', '{}', 0, TIMESTAMP '2026-01-01 00:00:00',"
                    + " TIMESTAMP '2026-01-01 00:00:00' FROM SYSTEM_RANGE(1, 20)");
            statement.execute("ALTER TABLE notification RENAME TO notification_away");

            client.enroll(session, 7);

            assertThat(course.poller().status().interval()).isEqualTo(Duration.ofMillis(700));
            await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
                assertThat(number(statement, "SELECT COUNT(*) FROM outbox_event WHERE status = 3"))
                        .isEqualTo(20);
                assertThat(number(
                                statement,
                                "SELECT COUNT(*) FROM outbox_event WHERE status = 2"
                                        + " AND available_at > created_at + INTERVAL '50' MINUTE"))
                        .isEqualTo(1);
            });
            assertThat(number(statement, "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM claimed GROUP BY token)"))
                    .isEqualTo(7);
        }
    }

    private static long number(Statement statement, String sql) throws SQLException {
        try (ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void without_delivery_the_business_goes_on_and_what_is_mended_later_is_counted_by_job(Store store)
            throws Exception {
        try (Course course = started(store, Duration.ZERO, Map.of("INTEV_ENABLED", "false"))) {
            Client client = new Client(course.port());
            long session = client.openSession(2);
            assertThat(client.enroll(session, 7).statusCode()).isEqualTo(201);

            assertThat(metric(client, "events_enqueued_total")).isEqualTo("1");
            assertThat(metric(client, "events_dispatched_total")).isEqualTo("0");
            assertThat(metric(client, "events_in_memory_queue_gauge")).isEqualTo(store == Store.MEMORY ? "1" : "0");
        }
        try (Course course = started(store)) {
            Client client = new Client(course.port());
            long session = client.openSession(2);
            course.database().inTransaction(connection -> {
                try (Statement statement = connection.createStatement()) {
                    return statement.executeUpdate(
                            "INSERT INTO participation_enrollment (session_id, learner_id) VALUES (" + session
                                    + ", 8)");
                }
            });

            await().atMost(Duration.ofSeconds(20))
                    .untilAsserted(() -> assertThat(metric(client, "reconcile_fixed_total{job=\"enrollment\"}"))
                            .isEqualTo("1"));
        }
    }

    /** Returns the value of a metric, or an empty text if there is none. */
    private static String metric(Client client, String name) {
        return client.get("/metrics")
                .body()
                .lines()
                .filter(line -> line.startsWith(name + " "))
                .map(line -> line.substring(name.length() + 1))
                .collect(Collectors.joining(","));
    }

    @Test
    void what_makes_no_sense_is_refused() throws Exception {
        try (Course course = started(Store.MEMORY)) {
            Client client = new Client(course.port());

            assertThat(client.enroll(77, 1).statusCode()).isEqualTo(404);
            assertThat(client.get("/sessions/77").statusCode()).isEqualTo(404);
            assertThat(client.post("/sessions", "{\"capacity\":\"many\"}").statusCode())
                    .isEqualTo(400);
            assertThat(client.post("/sessions", "no json").statusCode()).isEqualTo(400);
            assertThat(client.post("/sessions", "{\"capacity\":0,\"fee\":0}").statusCode())
                    .isEqualTo(400);
            assertThat(client.post("/reconcile/other", "").statusCode()).isEqualTo(400);
            assertThat(client.send("PUT", "/sessions/1", "").statusCode()).isEqualTo(405);
        }
        for (String wrong : List.of("--store=redis", "--port=x", "--reconcile-every=5", "--file=", "--what")) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> Options.parse(List.of(wrong)))
                    .withMessageContaining(wrong.replaceAll("=.*", ""));
        }
        assertThat(Options.parse(List.of("--store=jdbc")).store()).isEqualTo(Store.JDBC);
    }
}
