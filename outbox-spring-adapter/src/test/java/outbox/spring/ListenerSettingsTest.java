package outbox.spring;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import outbox.OutboxWriter;
import outbox.admin.EventDetails;
import outbox.admin.OutboxAdmin;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.dispatch.Protection;
import outbox.dispatch.RetryPolicy;
import outbox.dispatch.RetryRules;
import outbox.jackson.JacksonPayloadCodec;
import outbox.model.EventStatus;
import outbox.payload.PayloadCodec;
import outbox.poller.OutboxPoller;

import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/** The dispatcher applies the settings of a listener. The wiring is that of an application without Spring Boot. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@NullUnmarked
class ListenerSettingsTest {

    static class Listeners {
        final List<Integer> attempts = new CopyOnWriteArrayList<>();
        final AtomicInteger inside = new AtomicInteger();
        final AtomicInteger most = new AtomicInteger();
        final CountDownLatch open = new CountDownLatch(1);

        @OutboxListener(type = "few", attempts = "2", retry = "fixed 1ms")
        void few(@Attempt int attempt) {
            attempts.add(attempt);
            throw new IllegalStateException("again");
        }

        @OutboxListener(type = "named.*", attempts = "1")
        void byPattern() throws IOException {
            throw new IOException("never again");
        }

        @OutboxListener(type = "rare", retry = "fixed 1h")
        void rare() {
            throw new IllegalStateException("later");
        }

        @OutboxListener(type = "bean", retry = "hourly")
        void bean() {
            throw new IllegalStateException("later");
        }

        @OutboxListener(type = "slow", timeLimit = "60ms", attempts = "1")
        void slow() throws InterruptedException {
            open.await();
        }

        @OutboxListener(type = "alone", concurrency = "1")
        void alone() throws InterruptedException {
            most.accumulateAndGet(inside.incrementAndGet(), Math::max);
            open.await();
            inside.decrementAndGet();
        }

        @OutboxListener("free")
        void free() {}
    }

    @Configuration
    static class Wiring {

        @Bean
        PayloadCodec codec() {
            return new JacksonPayloadCodec();
        }

        @Bean
        RetryPolicy hourly() {
            return RetryPolicy.fixed(Duration.ofHours(1));
        }

        @Bean
        OutboxListenerMethods listenerMethods(PayloadCodec codec) {
            return new OutboxListenerMethods(codec);
        }

        @Bean
        OutboxListeners listeners(OutboxListenerMethods methods) {
            return methods.listenersOf(Outbox.DEFAULT);
        }
    }

    private final SpringRig rig = new SpringRig();
    // without a hook, so that the poller delivers
    private final OutboxWriter writer = new OutboxWriter(rig.context, rig.store);
    private final AnnotationConfigApplicationContext context =
            new AnnotationConfigApplicationContext(Wiring.class, Listeners.class);
    private final Listeners listeners = context.getBean(Listeners.class);
    private OutboxDispatcher dispatcher;
    private OutboxPoller poller;

    @BeforeEach
    void start() {
        OutboxDispatcher.Builder builder = OutboxDispatcher.builder()
                .connectionProvider(rig.pool::getConnection)
                .eventStore(rig.store);
        context.getBean(OutboxListeners.class)
                .configure(
                        builder,
                        RetryRules.builder()
                                .type("free", RetryRules.Rule.never())
                                .build(),
                        Protection.none());
        dispatcher = builder.build();
        poller = OutboxPoller.builder()
                .connectionProvider(rig.pool::getConnection)
                .eventStore(rig.store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .build();
    }

    @AfterEach
    void close() {
        listeners.open.countDown();
        poller.close();
        dispatcher.close();
        context.close();
        rig.close();
    }

    @Test
    void attempts_are_those_of_the_listener_and_the_method_knows_their_number() {
        String few = write("few");
        String byPattern = write("named.by.pattern");

        awaitStatus(few, EventStatus.DEAD);
        awaitStatus(byPattern, EventStatus.DEAD);

        assertThat(listeners.attempts).containsExactly(1, 2);
        assertThat(details(byPattern).summary().attempts()).isEqualTo(1);
        assertThat(details(byPattern).lastError()).contains("IOException");
    }

    @Test
    void the_wait_is_that_of_the_listener() {
        for (String id : List.of(write("rare"), write("bean"))) {
            awaitStatus(id, EventStatus.RETRY);

            assertThat(details(id).summary().availableAt())
                    .isAfter(Instant.now().plus(Duration.ofMinutes(50)));
        }
    }

    @Test
    void a_method_past_its_time_limit_is_interrupted() {
        String slow = write("slow");

        awaitStatus(slow, EventStatus.DEAD);

        assertThat(details(slow).lastError()).contains("InterruptedException");
    }

    @Test
    void no_more_events_are_at_work_than_the_listener_allows() {
        String one = write("alone");
        String other = write("alone");
        awaitStatus(write("free"), EventStatus.DONE); // so that there are idle workers
        await().until(() -> listeners.inside.get() == 1);

        listeners.open.countDown();

        awaitStatus(one, EventStatus.DONE);
        awaitStatus(other, EventStatus.DONE);
        assertThat(listeners.most).hasValue(1);
    }

    private String write(String type) {
        return rig.tx.execute(status -> writer.write(type, "{}"));
    }

    private void awaitStatus(String id, EventStatus expected) {
        await().atMost(Duration.ofSeconds(20)).until(() -> {
            poller.poll();
            return details(id).summary().status().orElse(null) == expected;
        });
    }

    private EventDetails details(String id) {
        return new OutboxAdmin(rig.pool::getConnection, rig.store).find(id).orElseThrow();
    }
}
