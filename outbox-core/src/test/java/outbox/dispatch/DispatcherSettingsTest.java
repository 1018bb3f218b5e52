package outbox.dispatch;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import outbox.fake.FakeConnections;
import outbox.fake.MemoryEventStore;
import outbox.registry.DefaultListenerRegistry;

import java.time.Duration;
import java.util.function.Consumer;
import java.util.stream.Stream;

import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.junit.jupiter.params.provider.Arguments.arguments;

@NullUnmarked
class DispatcherSettingsTest {

    static Stream<Arguments> wrongSettings() {
        return Stream.of(
                wrong("maxAttempts", builder -> builder.maxAttempts(0)),
                wrong("maxAttempts", builder -> builder.maxAttempts(-1)),
                wrong("workerCount", builder -> builder.workerCount(-1)),
                wrong("hotQueueCapacity", builder -> builder.hotQueueCapacity(0)),
                wrong("hotQueueCapacity", builder -> builder.hotQueueCapacity(-1)),
                wrong("coldQueueCapacity", builder -> builder.coldQueueCapacity(0)),
                wrong("coldQueueCapacity", builder -> builder.coldQueueCapacity(-1)),
                wrong("maxQueuedBytes", builder -> builder.maxQueuedBytes(0)),
                wrong("drainTimeoutMs", builder -> builder.drainTimeoutMs(-1)),
                wrong("drainTimeoutMs", builder -> builder.drainTimeoutMs(Long.MAX_VALUE)),
                wrong("databaseTimeout", builder -> builder.databaseTimeout(Duration.ZERO)),
                wrong(
                        "databaseTimeout",
                        builder -> complete(builder)
                                .leaseDuration(Duration.ofSeconds(9))
                                .databaseTimeout(Duration.ofSeconds(5))
                                .build()),
                wrong("leaseDuration", builder -> builder.leaseDuration(Duration.ZERO)),
                wrong("leaseDuration", builder -> builder.leaseDuration(Duration.ofSeconds(-1))),
                wrong("leaseDuration", builder -> builder.leaseDuration(Duration.ofSeconds(Long.MAX_VALUE))),
                wrong("listenerTimeLimit", builder -> builder.listenerTimeLimit(Duration.ZERO)),
                wrong("listenerTimeLimit", builder -> builder.listenerTimeLimit(Duration.ofMillis(-1))),
                wrong("listenerTimeLimit", builder -> builder.listenerTimeLimit("slow", Duration.ZERO)),
                wrong("listener", builder -> builder.listenerTimeLimit(" ", Duration.ofSeconds(1))),
                wrong(
                        "time limit for listener slow",
                        builder -> builder.listenerTimeLimit("slow", Duration.ofSeconds(1))
                                .listenerTimeLimit("slow", Duration.ofSeconds(2))),
                wrong("listenerTimeLimit", builder -> builder.listenerTimeLimit(Duration.ofSeconds(Long.MAX_VALUE))),
                wrong("keepAttempts", builder -> builder.keepAttempts(-1)),
                wrong("keepAttempts", builder -> builder.keepAttempts(1001)),
                wrong("untakenLimit", builder -> builder.takeOnlyKnown(Duration.ZERO)),
                wrong(
                        "takeOnlyKnown needs a store",
                        builder -> complete(builder)
                                .takeOnlyKnown(Duration.ofHours(1))
                                .build()),
                wrong(
                        "deleteDone",
                        builder -> complete(builder).deleteDone(true).build()),
                wrong("ownerId", builder -> complete(builder).ownerId("").build()),
                wrong(
                        "ownerId",
                        builder -> complete(builder).ownerId("x".repeat(81)).build()),
                wrong(
                        "ownerId",
                        builder -> complete(builder).ownerId("line\nbreak").build()));
    }

    @ParameterizedTest
    @MethodSource("wrongSettings")
    void a_wrong_setting_is_refused_by_name(String name, Consumer<OutboxDispatcher.Builder> setting) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> setting.accept(OutboxDispatcher.builder()))
                .withMessageContaining(name);
    }

    static Stream<Arguments> missingSettings() {
        return Stream.of(
                wrong("connectionProvider", builder -> builder.connectionProvider(null)),
                wrong("eventStore", builder -> builder.eventStore(null)),
                wrong("listenerRegistry", builder -> builder.listenerRegistry(null)),
                wrong("inFlightTracker", builder -> builder.inFlightTracker(null)),
                wrong("retryPolicy", builder -> builder.retryPolicy(null)),
                wrong("metrics", builder -> builder.metrics(null)),
                wrong("interceptor", builder -> builder.interceptor(null)),
                wrong("ownerId", builder -> builder.ownerId(null)),
                wrong("connectionProvider", OutboxDispatcher.Builder::build),
                wrong(
                        "eventStore",
                        builder -> builder.connectionProvider(new FakeConnections())
                                .build()),
                wrong(
                        "listenerRegistry",
                        builder -> builder.connectionProvider(new FakeConnections())
                                .eventStore(new MemoryEventStore())
                                .build()));
    }

    @ParameterizedTest
    @MethodSource("missingSettings")
    void a_missing_setting_is_refused_by_name(String name, Consumer<OutboxDispatcher.Builder> setting) {
        assertThatNullPointerException()
                .isThrownBy(() -> setting.accept(OutboxDispatcher.builder()))
                .withMessageContaining(name);
    }

    @Test
    void the_smallest_settings_are_taken() {
        complete(OutboxDispatcher.builder())
                .workerCount(0)
                .maxAttempts(1)
                .hotQueueCapacity(1)
                .coldQueueCapacity(1)
                .maxQueuedBytes(1)
                .drainTimeoutMs(0)
                .leaseDuration(Duration.ofNanos(1))
                .listenerTimeLimit(Duration.ofNanos(1))
                .ownerId("x")
                .build()
                .close();
    }

    @Test
    void the_largest_settings_are_taken() {
        complete(OutboxDispatcher.builder())
                .workerCount(1)
                .maxAttempts(Integer.MAX_VALUE)
                .maxQueuedBytes(Long.MAX_VALUE)
                .drainTimeoutMs(Duration.ofDays(365).toMillis())
                .leaseDuration(Duration.ofDays(365))
                .listenerTimeLimit(Duration.ofDays(365))
                .ownerId("x".repeat(80))
                .build()
                .close();
    }

    private static OutboxDispatcher.Builder complete(OutboxDispatcher.Builder builder) {
        return builder.connectionProvider(new FakeConnections())
                .eventStore(new MemoryEventStore())
                .listenerRegistry(new DefaultListenerRegistry());
    }

    private static Arguments wrong(String name, Consumer<OutboxDispatcher.Builder> setting) {
        return arguments(name, setting);
    }
}
