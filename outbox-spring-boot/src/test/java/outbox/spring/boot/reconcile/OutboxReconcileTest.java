package outbox.spring.boot.reconcile;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import outbox.reconcile.Found;
import outbox.reconcile.ReconcileAdmin;
import outbox.reconcile.ReconcileJob;
import outbox.reconcile.ReconcileRun;
import outbox.spring.Outbox;
import outbox.spring.boot.Contexts;
import outbox.spring.boot.OutboxInstance;

import java.time.Duration;
import java.util.List;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

@Timeout(60)
class OutboxReconcileTest {

    @Configuration(proxyBeanMethods = false)
    static class Jobs {
        @Bean
        ReconcileJob orders() {
            return job("orders");
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Named {
        @Bean
        @Outbox("billing")
        ReconcileJob bills() {
            return job("bills");
        }
    }

    private static ReconcileJob job(String name) {
        return ReconcileJob.builder(name)
                .every(Duration.ofSeconds(1))
                .finder(search -> Found.last(List.of()))
                .build();
    }

    private static final ApplicationContextRunner RUNNER =
            Contexts.runner().withUserConfiguration(Jobs.class).withPropertyValues("outbox.reconcile.look-every=50ms");

    private static List<ReconcileRun> runs(ApplicationContext context) {
        OutboxInstance outbox = context.getBean(OutboxInstance.class);
        ReconcileAdmin admin = new ReconcileAdmin(outbox.connections(), outbox.store());
        await().atMost(Duration.ofSeconds(20))
                .until(() -> !admin.runs("orders", 10).isEmpty());
        return admin.runs("orders", 10);
    }

    @Test
    void jobs_that_are_beans_run() {
        RUNNER.run(context -> assertThat(runs(context)).noneMatch(ReconcileRun::dryRun));
    }

    @Test
    void they_run_again_after_a_restart_of_the_context() {
        RUNNER.run(context -> {
            runs(context);
            context.stop();
            context.start();

            assertThat(context.getBean(Reconcilers.class).isRunning()).isTrue();
        });
    }

    @Test
    void all_runs_may_be_dry() {
        RUNNER.withPropertyValues("outbox.reconcile.dry-run=true")
                .run(context -> assertThat(runs(context)).allMatch(ReconcileRun::dryRun));
    }

    @Test
    void the_other_settings_are_those_of_the_properties() {
        RUNNER.withPropertyValues("outbox.reconcile.keep-runs=3", "outbox.reconcile.look-every=7s")
                .run(context -> {
                    Object reconciler = ((Map<?, ?>) Contexts.field(context.getBean(Reconcilers.class), "running"))
                            .values()
                            .iterator()
                            .next();
                    assertThat(Contexts.field(reconciler, "lookEvery")).isEqualTo(Duration.ofSeconds(7));
                    Object book = Contexts.field(reconciler, "book");
                    assertThat(Contexts.field(book, "keep")).isEqualTo(3);
                });
    }

    @Test
    void they_can_be_switched_off() {
        RUNNER.withPropertyValues("outbox.reconcile.enabled=false")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(Reconcilers.class));
        Contexts.runner().run(context -> assertThat(context).doesNotHaveBean(Reconcilers.class));
    }

    @Test
    void a_job_of_an_outbox_that_is_not_there_is_refused() {
        Contexts.runner()
                .withUserConfiguration(Named.class)
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("bills")
                        .hasMessageContaining("'billing'"));
    }

    @Test
    void tables_that_are_missing_are_named() {
        String database = "spring.datasource.url=jdbc:h2:mem:without-reconcile;DB_CLOSE_DELAY=-1";
        Contexts.runner()
                .withPropertyValues(database)
                .run(context -> assertThat(context).hasNotFailed());

        RUNNER.withPropertyValues(database, "outbox.jdbc.initialize-schema=never")
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("outbox_reconcile")
                        .hasMessageContaining("outbox.jdbc.initialize-schema"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
                    outbox.reconcile.look-every=49ms | between 50ms and 10m
                    outbox.reconcile.keep-runs=0     | between 1 and 100000
                    """)
    void a_wrong_value_names_the_property_and_what_is_allowed(String property, String allowed) {
        RUNNER.withPropertyValues(property)
                .run(context -> assertThat(context.getStartupFailure())
                        .rootCause()
                        .hasMessageContaining("Property " + property.substring(0, property.indexOf('=')) + " is")
                        .hasMessageContaining(allowed));
    }
}
