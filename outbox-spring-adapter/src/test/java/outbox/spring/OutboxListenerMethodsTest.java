package outbox.spring;

import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.env.MapPropertySource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import outbox.AsyncEventListener;
import outbox.BatchEventListener;
import outbox.DeliveryOutcome;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.OutcomeEventListener;
import outbox.jackson.JacksonPayloadCodec;
import outbox.payload.PayloadTypes;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

@NullUnmarked
class OutboxListenerMethodsTest {

    record Order(String id, int cents) {}

    @OutboxEvent(type = "order.sent", aggregate = "Order", version = 2)
    record Sent(String id) {}

    private final List<Object> got = new ArrayList<>();
    private final List<AnnotationConfigApplicationContext> contexts = new ArrayList<>();

    @AfterEach
    void close() {
        contexts.forEach(AnnotationConfigApplicationContext::close);
    }

    class Arguments {

        @OutboxListener(type = "typed", aggregate = "Order")
        void typed(
                @Header("source") String source,
                Order order,
                @Header("none") String none,
                @Header("source") Optional<String> maybe,
                Map<String, String> headers,
                EventEnvelope event) {
            got.addAll(List.of(source, order, String.valueOf(none), maybe, headers, event.eventType()));
        }

        @OutboxListener("text")
        public void text(String payload) {
            got.add(payload);
        }

        @OutboxListener("bytes")
        protected void bytes(byte[] payload) {
            got.add(payload.length);
        }

        @OutboxListener({"none", "none.*"})
        void none() {
            got.add("none");
        }

        @OutboxListener("map")
        void map(Map<String, Object> payload) {
            got.add(payload.get("id"));
        }
    }

    @Test
    void a_method_takes_what_it_asks_for() throws Exception {
        OutboxListeners listeners = listenersOf(new Arguments());

        deliver(
                listeners,
                EventEnvelope.builder("typed")
                        .aggregateType("Order")
                        .header("source", "web")
                        .payloadJson("{\"id\":\"7\",\"cents\":5}")
                        .build());
        deliver(listeners, EventEnvelope.ofJson("text", "{}"));
        deliver(listeners, EventEnvelope.ofJson("bytes", "123"));
        deliver(listeners, EventEnvelope.ofJson("none", "123"));
        deliver(listeners, EventEnvelope.ofJson("none.more", "123"));
        deliver(listeners, EventEnvelope.ofJson("map", "{\"id\":\"7\"}"));

        assertThat(got)
                .containsExactly(
                        "web",
                        new Order("7", 5),
                        "null",
                        Optional.of("web"),
                        Map.of("source", "web"),
                        "typed",
                        "{}",
                        3,
                        "none",
                        "none",
                        "7");
    }

    @Test
    void a_listener_has_the_name_of_its_route_unless_it_has_several() {
        OutboxListeners listeners = listenersOf(new Arguments());

        assertThat(listeners.listenerFor("__GLOBAL__", "text").listenerName()).isNull();
        assertThat(listeners.listenerFor("__GLOBAL__", "none").listenerName()).isEqualTo("bean.none");
    }

    class OfEventClass {

        @OutboxListener
        void sent(Sent sent) {
            got.add(sent);
        }
    }

    @Test
    void the_class_of_the_payload_says_which_event_it_is_of() throws Exception {
        OutboxListeners listeners = listenersOf(new OfEventClass());

        EventEnvelope event = EventEnvelope.builder("order.sent")
                .aggregateType("Order")
                .schemaVersion(2)
                .payloadJson("{\"id\":\"7\"}")
                .build();
        deliver(listeners, event);

        assertThat(got).containsExactly(new Sent("7"));
    }

    class Typed {

        @OutboxListener("paid")
        void paid(Order order) {
            got.add(order);
        }
    }

    @Test
    void a_payload_that_is_not_of_its_form_is_dead_at_once() {
        OutboxListeners listeners = listenersOf(new Typed());

        assertThatThrownBy(() -> deliver(listeners, EventEnvelope.ofJson("paid", "[]")))
                .isInstanceOf(GiveUpException.class);
    }

    @Test
    void versions_do_not_count_for_a_type_that_is_not_registered() throws Exception {
        OutboxListeners listeners = listenersOf(new OfEventClass());

        for (int version : List.of(1, 2, 7)) {
            deliver(
                    listeners,
                    EventEnvelope.builder("order.sent")
                            .aggregateType("Order")
                            .schemaVersion(version)
                            .payloadJson("{\"id\":\"" + version + "\"}")
                            .build());
        }

        assertThat(got).containsExactly(new Sent("1"), new Sent("2"), new Sent("7"));
    }

    @Test
    void an_older_version_of_a_registered_type_is_made_the_current_one() throws Exception {
        JacksonPayloadCodec codec = new JacksonPayloadCodec();
        PayloadTypes types = PayloadTypes.builder(codec)
                .type("paid", 2, Order.class)
                .upcast("paid", 1, Map.class, old -> new Order("old", 1))
                .build();
        OutboxListeners listeners = start(new OutboxListenerMethods(codec, types), new Typed());

        deliver(listeners, EventEnvelope.ofJson("paid", "{}"));

        assertThat(got).containsExactly(new Order("old", 1));
    }

    static class Forms {

        @OutboxListener("outcome")
        DeliveryOutcome outcome() {
            return DeliveryOutcome.giveUp("no");
        }

        @OutboxListener("async")
        CompletableFuture<String> async() {
            return CompletableFuture.completedFuture("yes");
        }

        @OutboxListener("null")
        DeliveryOutcome nothing() {
            return null;
        }
    }

    @Test
    void the_result_decides_the_kind_of_listener() throws Exception {
        OutboxListeners listeners = listenersOf(new Forms());

        var outcome = (OutcomeEventListener) listeners.listenerFor("__GLOBAL__", "outcome");
        var async = (AsyncEventListener) listeners.listenerFor("__GLOBAL__", "async");

        assertThat(outcome.deliver(EventEnvelope.ofJson("outcome", "{}")).failure())
                .isInstanceOf(GiveUpException.class);
        assertThat(async.onEventAsync(EventEnvelope.ofJson("async", "{}"))
                        .toCompletableFuture()
                        .join())
                .isEqualTo("yes");
        assertThatThrownBy(() -> deliver(listeners, EventEnvelope.ofJson("null", "{}")))
                .isInstanceOf(NullPointerException.class);
    }

    class Batches {

        @OutboxListener(type = "batch", batchSize = 7)
        BatchEventListener.Outcome batch(List<EventEnvelope> events, List<Order> orders) {
            got.addAll(orders);
            return BatchEventListener.Outcome.allDelivered().withFailed(events.get(0), new IOException("first"));
        }
    }

    @Test
    void a_method_that_takes_lists_gets_what_can_be_read_and_fails_no_other() throws Exception {
        BatchEventListener batch =
                (BatchEventListener) listenersOf(new Batches()).listenerFor("__GLOBAL__", "batch");
        EventEnvelope wrong = EventEnvelope.ofJson("batch", "[]");
        EventEnvelope first = EventEnvelope.ofJson("batch", "{\"id\":\"1\"}");
        EventEnvelope second = EventEnvelope.ofJson("batch", "{\"id\":\"2\"}");

        BatchEventListener.Outcome outcome = batch.onEvents(List.of(wrong, first, second));

        assertThat(got).containsExactly(new Order("1", 0), new Order("2", 0));
        assertThat(outcome.failures()).containsOnlyKeys(wrong.eventId(), first.eventId());
        assertThat(outcome.failures().get(wrong.eventId())).isInstanceOf(GiveUpException.class);
        assertThat(outcome.failures().get(first.eventId())).hasMessage("first");
        assertThat(batch.maxBatchSize()).isEqualTo(7);
    }

    static class Failing {

        @OutboxListener("checked")
        void checked() throws IOException {
            throw new IOException("of the user");
        }

        @OutboxListener("error")
        void error() {
            throw new StackOverflowError();
        }
    }

    @Test
    void what_a_method_throws_arrives_as_it_was_thrown() {
        OutboxListeners listeners = listenersOf(new Failing());

        assertThatThrownBy(() -> deliver(listeners, EventEnvelope.ofJson("checked", "{}")))
                .isExactlyInstanceOf(IOException.class)
                .hasMessage("of the user");
        assertThatThrownBy(() -> deliver(listeners, EventEnvelope.ofJson("error", "{}")))
                .isExactlyInstanceOf(StackOverflowError.class);
    }

    interface Mailing {
        void send(EventEnvelope event) throws IOException;
    }

    static class Mail implements Mailing {
        static boolean inTransaction;

        @Override
        @Transactional
        @OutboxListener("mail")
        public void send(EventEnvelope event) throws IOException {
            inTransaction = TransactionSynchronizationManager.isActualTransactionActive();
            throw new IOException("after the look");
        }
    }

    static class Hidden implements Mailing {

        @Override
        public void send(EventEnvelope event) {}

        @Transactional
        @OutboxListener("mail")
        public void other(EventEnvelope event) {}
    }

    static class Final {

        @Transactional
        @OutboxListener("mail")
        final void send(EventEnvelope event) {}

        @Transactional
        public void other() {}
    }

    @Configuration
    @EnableTransactionManagement
    static class InterfaceProxies {
        @Bean
        PlatformTransactionManager transactionManager() {
            return rig.manager;
        }
    }

    @Configuration
    @EnableTransactionManagement(proxyTargetClass = true)
    static class ClassProxies {
        @Bean
        PlatformTransactionManager transactionManager() {
            return rig.manager;
        }
    }

    private static final SpringRig rig = new SpringRig();

    @Test
    void a_proxied_bean_is_called_through_its_proxy() {
        for (Class<?> proxies : List.of(InterfaceProxies.class, ClassProxies.class)) {
            Mail.inTransaction = false;
            OutboxListeners listeners = start(methods(), Mail.class, proxies);

            assertThatThrownBy(() -> deliver(listeners, EventEnvelope.ofJson("mail", "{}")))
                    .isExactlyInstanceOf(IOException.class);

            assertThat(Mail.inTransaction).isTrue();
        }
    }

    @Test
    void a_method_that_a_proxy_does_not_have_is_refused_at_start() {
        assertThatThrownBy(() -> start(methods(), Hidden.class, InterfaceProxies.class))
                .hasStackTraceContaining("Hidden.other")
                .hasStackTraceContaining("proxy");
        assertThatThrownBy(() -> start(methods(), Final.class, ClassProxies.class))
                .hasStackTraceContaining("Final.send")
                .hasStackTraceContaining("Remove final");
    }

    static class Late {
        static int made;

        Late() {
            made++;
        }

        @OutboxListener("late")
        void on() {}
    }

    @Configuration
    static class LazyBeans {
        @Bean
        @Lazy
        Late late() {
            return new Late();
        }
    }

    @Test
    void a_lazy_bean_is_made_for_its_first_event() throws Exception {
        Late.made = 0;
        OutboxListeners listeners = start(methods(), LazyBeans.class);
        int before = Late.made;

        deliver(listeners, EventEnvelope.ofJson("late", "{}"));
        deliver(listeners, EventEnvelope.ofJson("late", "{}"));

        assertThat(before).isZero();
        assertThat(Late.made).isEqualTo(1);
    }

    @Configuration
    static class DeclaredAsInterface {
        @Bean
        Mailing mailing() {
            return new Mail();
        }
    }

    @Test
    void a_listener_behind_a_declared_interface_is_refused_with_the_way_out() {
        assertThatThrownBy(() -> start(methods(), DeclaredAsInterface.class))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContainingAll("Mail.send", "declared as", "Mailing", "Declare it as a");
    }

    static class Placed {
        @OutboxListener(type = "${test.type}", name = "${test.name:mail}", aggregate = "${test.none:}")
        void on() {}
    }

    @Test
    void texts_may_hold_placeholders() {
        OutboxListeners listeners = listenersOf(new Placed());

        assertThat(listeners.listenerFor("__GLOBAL__", "from.properties").listenerName())
                .isEqualTo("mail");
    }

    static class Twice {
        @OutboxListener("same")
        void one() {}

        @OutboxListener("same")
        void other() {}
    }

    @Test
    void two_methods_for_one_event_are_refused_with_both_and_the_way_out() {
        assertThatThrownBy(() -> listenersOf(new Twice()))
                .hasStackTraceContaining("Twice.one")
                .hasStackTraceContaining("Twice.other")
                .hasStackTraceContaining("one method call both");
    }

    static class Elsewhere {
        @OutboxListener(type = "x", outbox = "oders")
        void on() {}
    }

    @Test
    void a_listener_of_an_outbox_that_does_not_exist_is_refused() {
        assertThatThrownBy(() -> listenersOf(new Elsewhere())).hasMessageContainingAll("oders", "default");
    }

    @Test
    void a_bean_whose_class_is_not_there_is_passed_over() {
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        beans.registerSingleton("bean", new Typed());
        beans.registerBeanDefinition("optional", new RootBeanDefinition("not.there.Optional"));
        OutboxListenerMethods methods = methods();
        methods.setBeanFactory(beans);

        assertThat(methods.listenersOf(Outbox.DEFAULT).listenerFor("__GLOBAL__", "paid"))
                .isNotNull();
    }

    private OutboxListeners listenersOf(Object bean) {
        return start(methods(), bean);
    }

    private static OutboxListenerMethods methods() {
        return new OutboxListenerMethods(new JacksonPayloadCodec());
    }

    /** Starts a context with the given beans or classes. */
    private OutboxListeners start(OutboxListenerMethods methods, Object... parts) {
        AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
        contexts.add(context);
        context.getEnvironment()
                .getPropertySources()
                .addFirst(new MapPropertySource("test", Map.of("test.type", "from.properties")));
        for (Object part : parts) {
            if (part instanceof Class<?> type) {
                context.register(type);
            } else {
                context.getBeanFactory().registerSingleton("bean", part);
            }
        }
        context.registerBean(OutboxListenerMethods.class, () -> methods);
        context.registerBean(
                OutboxListeners.class,
                () -> context.getBean(OutboxListenerMethods.class).listenersOf(Outbox.DEFAULT));
        context.refresh();
        return context.getBean(OutboxListeners.class);
    }

    private static void deliver(OutboxListeners listeners, EventEnvelope event) throws Exception {
        listeners.listenerFor(event.aggregateType(), event.eventType()).onEvent(event);
    }
}
