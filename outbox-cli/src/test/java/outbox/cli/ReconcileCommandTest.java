package outbox.cli;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.jdbc.H2EventStore;
import outbox.reconcile.FactFinder;
import outbox.reconcile.FactSearch;
import outbox.reconcile.Found;
import outbox.reconcile.ReconcileJob;
import outbox.reconcile.Reconciler;

import java.time.Duration;
import java.time.ZoneOffset;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ReconcileCommandTest {

    private final Shop shop = Shop.inMemory();
    private final Reconciler application = application(ReconcileCommandTest::find);

    private Reconciler application(FactFinder finder) {
        return Reconciler.builder()
                .connectionProvider(shop::connect)
                .eventStore(new H2EventStore())
                .lookEvery(Duration.ofMillis(50))
                .ownerId("shop-1")
                .job(ReconcileJob.builder("orders")
                        .cron("0 0 1 1 *", ZoneOffset.UTC)
                        .finder(finder)
                        .build())
                .build();
    }

    private static Found find(FactSearch search) {
        return Found.last(List.of(EventEnvelope.builder("order.placed")
                .eventId(search.eventId("order:1"))
                .payloadJson("{}")
                .build()));
    }

    @AfterEach
    void close() {
        application.close();
    }

    private Run command(String... arguments) {
        String[] all = new String[arguments.length + 5];
        all[0] = "reconcile";
        System.arraycopy(arguments, 0, all, 1, arguments.length);
        System.arraycopy(
                new String[] {"--table", "outbox_event", "--url", shop.url()}, 0, all, arguments.length + 1, 4);
        return Run.of(all);
    }

    @Test
    void a_dry_run_is_made_by_the_application_and_writes_nothing() throws Exception {
        application.start();
        application.jobs();

        Run run = command("run", "orders", "--reason", "ticket 17", "--dry-run");

        assertThat(run.err()).isEmpty();
        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).contains("orders", "shop-1", "1 (dry run)");
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event")).isEqualTo("0");
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_audit")).isEqualTo("0");
    }

    @Test
    void a_confirmed_run_writes_and_is_recorded() throws Exception {
        application.start();
        application.jobs();

        Run unconfirmed = command("run", "orders", "--reason", "ticket 17");
        Run confirmed = command("run", "orders", "--reason", "ticket 17", "--actor", "ada", "--yes", "--json");
        Run list = command("list");

        assertThat(unconfirmed.exitCode()).isEqualTo(ExitCode.NOT_CONFIRMED);
        assertThat(confirmed.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(confirmed.out()).contains("\"fixed\" : 1", "\"dryRun\" : false");
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_event")).isEqualTo("1");
        assertThat(shop.ask("SELECT action || ' ' || actor || ' ' || reason || ' ' || affected FROM outbox_audit"))
                .isEqualTo("RECONCILE ada ticket 17 1");
        assertThat(list.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(list.out()).contains("cron 0 0 1 1 * Z", "shop-1");
    }

    @Test
    void a_request_that_nobody_serves_waits_and_a_second_one_is_refused() {
        application.jobs(); // registers the job, but does not run it

        Run first = command("run", "orders", "--reason", "x", "--dry-run", "--wait", "300ms", "--request-id", "r-1");
        Run repeated = command("run", "orders", "--reason", "x", "--dry-run", "--wait", "0s", "--request-id", "r-1");
        Run second = command("run", "orders", "--reason", "x", "--yes", "--wait", "0s");
        Run list = command("list", "--json");

        assertThat(first.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(first.err()).contains("r-1", "Does one with this job run?");
        assertThat(repeated.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(repeated.err()).contains("was made before");
        assertThat(second.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(second.err()).contains("r-1");
        assertThat(list.out()).contains("\"requestId\" : \"r-1\"");
    }

    @Test
    void a_request_whose_run_was_cut_short_is_waited_for_until_another_run_has_gone_on() throws Exception {
        String[] asking = {"run", "orders", "--reason", "x", "--yes", "--request-id", "r-1", "--wait", "0s"};
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        try (Reconciler closing = application(search -> {
            inside.countDown();
            goOn.await(20, TimeUnit.SECONDS);
            return Found.more(find(search).events(), "1");
        })) {
            closing.jobs();
            command(asking);
            closing.start();
            assertThat(inside.await(20, TimeUnit.SECONDS)).isTrue();
            Thread closer = new Thread(closing::close);
            closer.start();
            await().atMost(Duration.ofSeconds(10)).until(() -> closer.getState() == Thread.State.TIMED_WAITING);
            goOn.countDown();
            closer.join(20_000);
        }

        asking[8] = "300ms";
        Run cutShort = command(asking);
        application.start();
        asking[8] = "60s";
        Run over = command(asking);

        assertThat(cutShort.exitCode()).isEqualTo(ExitCode.PROBLEM);
        assertThat(cutShort.err()).contains("r-1", "cut short");
        assertThat(over.exitCode()).isEqualTo(ExitCode.OK);
        assertThat(shop.ask("SELECT COUNT(*) FROM outbox_audit WHERE finished_at IS NOT NULL"))
                .isEqualTo("1");
    }

    @Test
    void what_is_not_there_is_refused_by_name() {
        assertThat(command("list").err()).contains("No node has made a reconcile job known");
        assertThat(command("run", "nobody", "--reason", "x", "--yes").exitCode())
                .isEqualTo(ExitCode.USAGE);
        assertThat(command("run", "nobody", "--reason", "x", "--yes").err()).contains("nobody");
        assertThat(command("run", "orders", "--reason", "x", "--yes", "--dry-run")
                        .exitCode())
                .isEqualTo(ExitCode.USAGE);
    }
}
