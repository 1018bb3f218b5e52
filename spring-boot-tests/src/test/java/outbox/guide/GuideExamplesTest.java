package outbox.guide;

import com.sun.net.httpserver.HttpServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseBuilder;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseType;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import outbox.OutboxWriter;
import outbox.TransactionStateException;
import outbox.guide.CrmListener.Invoice;
import outbox.guide.OrderPayments.OrderPaid;
import outbox.guide.ParcelVersions.ParcelSent;
import outbox.guide.shop.ShopApplication;
import outbox.spring.OutboxListener;
import outbox.testing.fault.ChildJvm;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.sql.DataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/** Runs the code that the guide shows. */
@Timeout(60)
@Tag("process")
class GuideExamplesTest {

    private static final Duration SECONDS = Duration.ofSeconds(20);
    private static final AtomicInteger NUMBER = new AtomicInteger();
    private static final Queue<String> RECEIVED = new ConcurrentLinkedQueue<>(); // of the current test
    private static final AtomicInteger ANSWER = new AtomicInteger(200);

    private static ConfigurableApplicationContext run(Class<?> application, String... properties) {
        RECEIVED.clear();
        List<String> all = new ArrayList<>(List.of(
                "spring.datasource.url=jdbc:h2:mem:guide" + NUMBER.incrementAndGet() + ";DB_CLOSE_DELAY=-1",
                "spring.main.banner-mode=off"));
        all.addAll(List.of(properties));
        if (all.stream().noneMatch(property -> property.startsWith("outbox.named"))) {
            all.add("outbox.poller.interval=200ms");
        }
        return new SpringApplicationBuilder(application)
                .web(WebApplicationType.NONE)
                .properties(all.toArray(String[]::new))
                .run();
    }

    private static void execute(ConfigurableApplicationContext context, String sql) {
        context.getBean(JdbcClient.class).sql(sql).update();
    }

    private static List<String> outbox(ConfigurableApplicationContext context) {
        return context.getBean(JdbcClient.class)
                .sql("SELECT event_type, status, attempts FROM outbox_event ORDER BY event_type, created_at")
                .query((row, number) -> row.getString(1) + " " + row.getInt(2) + " " + row.getInt(3))
                .list();
    }

    private static void awaitOutbox(ConfigurableApplicationContext context, String... rows) {
        await().atMost(SECONDS).untilAsserted(() -> assertThat(outbox(context)).containsExactly(rows));
    }

    @Test
    void the_shop_delivers_what_it_committed_and_nothing_else() {
        try (var context = run(ShopApplication.class, "spring.sql.init.schema-locations=classpath:guide/shop.sql")) {
            Shop shop = new Shop(context);

            assertThatThrownBy(() -> shop.placeAndRollBack("1")).hasMessage("no card");
            shop.place("2");

            awaitOutbox(context, "order.placed 1 0");
            assertThat(shop.orders()).containsExactly("2");
        }
    }

    @Test
    void the_shop_stays_until_its_event_is_delivered() {
        String[] arguments = {
            "--spring.main.keep-alive=true", // as the README says
            "--spring.main.web-application-type=none",
            "--spring.sql.init.schema-locations=classpath:guide/shop.sql"
        };
        try (ChildJvm shop = ChildJvm.start(ShopApplication.class, arguments)) {
            shop.awaitLine("To the customer of order 4711: your lamp is on its way.", Duration.ofSeconds(50));
            shop.terminate();

            assertThat(shop.waitFor(SECONDS)).isEqualTo(143); // it would be 0 after a normal end
        }
    }

    /** The beans of the shop are private, so they are called by name. */
    private record Shop(ConfigurableApplicationContext context) {

        void place(String id) {
            try {
                Object orders = context.getBean("orders");
                var method = orders.getClass().getMethod("place", String.class, String.class);
                method.setAccessible(true);
                method.invoke(orders, id, "lamp");
            } catch (ReflectiveOperationException e) {
                throw new LinkageError("The shop is not as it was", e);
            }
        }

        void placeAndRollBack(String id) {
            new TransactionTemplate(context.getBean(PlatformTransactionManager.class)).executeWithoutResult(status -> {
                place(id);
                throw new IllegalStateException("no card");
            });
        }

        List<String> orders() {
            return context.getBean(JdbcClient.class)
                    .sql("SELECT id FROM orders")
                    .query(String.class)
                    .list();
        }
    }

    @Test
    void payments_are_delivered_in_order_and_a_reminder_waits() {
        try (var context = run(Payments.class, "outbox.ordering.per-aggregate=true", "outbox.capabilities=order")) {
            execute(context, "CREATE TABLE orders (id VARCHAR(36) PRIMARY KEY, status VARCHAR(10))");
            OrderPayments payments = context.getBean(OrderPayments.class);
            payments.place("1");

            IntStream.range(0, 20).forEach(i -> payments.pay("1"));
            payments.remind("1");

            List<String> rows = Stream.concat(
                            IntStream.range(0, 20).mapToObj(i -> "order.paid 1 0"), Stream.of("order.reminder 0 0"))
                    .toList();
            awaitOutbox(context, rows.toArray(String[]::new));
            assertThat(RECEIVED).hasSize(20);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(OrderPayments.class)
    static class Payments {

        @Bean
        PaidListener paidListener() {
            return new PaidListener();
        }
    }

    static class PaidListener {

        @OutboxListener(type = "order.paid", aggregate = "Order")
        void paid(OrderPaid order) {
            RECEIVED.add(order.id());
        }
    }

    @Test
    void a_listener_says_what_its_failures_mean_and_a_dead_event_is_replayed() {
        try (var context = run(Crm.class)) {
            ANSWER.set(400);
            write(context, "invoice.sent", "{\"id\":\"4711\"}");
            awaitOutbox(context, "invoice.sent 3 1"); // dead after the first attempt

            ANSWER.set(503);
            assertThat(context.getBean(Replays.class).replayInvoices().affected())
                    .isEqualTo(1);
            awaitOutbox(context, "invoice.sent 2 0"); // postponed, no attempt counted
            assertThat(RECEIVED).containsExactly("4711 400", "4711 503");
        }
    }

    private static void write(ConfigurableApplicationContext context, String type, String json) {
        new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
                .executeWithoutResult(
                        status -> context.getBean(OutboxWriter.class).write(type, json));
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import({CrmListener.class, Replays.class})
    static class Crm {

        @Bean
        ToIntFunction<Invoice> crm() {
            return invoice -> {
                RECEIVED.add(invoice.id() + " " + ANSWER.get());
                return ANSWER.get();
            };
        }
    }

    @Test
    void an_event_of_an_older_version_is_read_as_the_current_one() {
        try (var context = run(Parcels.class)) {
            write(context, "parcel.sent", "{\"id\":\"old\",\"kilos\":2}"); // version 1
            new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
                    .executeWithoutResult(status -> context.publishEvent(new ParcelSent("new", 5)));

            awaitOutbox(context, "parcel.sent 1 0", "parcel.sent 1 0");
            assertThat(RECEIVED).containsExactlyInAnyOrder("old 2000", "new 5");
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(ParcelVersions.class)
    static class Parcels {

        @Bean
        ParcelListener parcelListener() {
            return new ParcelListener();
        }
    }

    static class ParcelListener {

        @OutboxListener
        void sent(ParcelSent parcel) {
            RECEIVED.add(parcel.id() + " " + parcel.grams());
        }
    }

    @Test
    void a_call_that_gruelbox_had_stored_is_made() {
        try (var context = run(Moved.class)) {
            write(
                    context,
                    "mail.order.placed",
                    "{\"c\":\"shop.Mail\",\"m\":\"orderPlaced\",\"p\":[\"String\"],\"a\":[{\"t\":\"String\",\"v\":\"o-1\"}]}");

            awaitOutbox(context, "mail.order.placed 1 0");
            assertThat(RECEIVED).containsExactly("o-1");
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(MovedCalls.class)
    static class Moved {

        @Bean
        Consumer<String> mail() {
            return RECEIVED::add;
        }
    }

    @Test
    void an_asynchronous_listener_is_done_when_its_answer_came() throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/", exchange -> {
            RECEIVED.add(exchange.getRequestHeaders().getFirst("Idempotency-Key"));
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        server.start();
        try (var context =
                run(Index.class, "index=http://127.0.0.1:" + server.getAddress().getPort() + "/")) {
            write(context, "order.indexed", "{}");

            awaitOutbox(context, "order.indexed 1 0");
            assertThat(RECEIVED).hasSize(1).doesNotContainNull();
        } finally {
            server.stop(0);
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Index {

        @Bean
        AsyncListener asyncListener(org.springframework.core.env.Environment environment) {
            return new AsyncListener(HttpClient.newHttpClient(), URI.create(environment.getRequiredProperty("index")));
        }
    }

    @Test
    void each_database_has_its_outbox_and_refuses_the_other_ones_transaction() {
        try (var context = run(
                Both.class,
                "outbox.named.orders.data-source=ordersDataSource",
                "outbox.named.billing.data-source=billingDataSource")) {
            JdbcClient billing = JdbcClient.create(context.getBean("billingDataSource", DataSource.class));
            billing.sql("CREATE TABLE invoices (id VARCHAR(36))").update();
            TwoDatabases service = context.getBean(TwoDatabases.class);

            service.send("1");
            assertThatThrownBy(() -> service.sendInTheWrongOne("2")).isInstanceOf(TransactionStateException.class);

            await().atMost(SECONDS).untilAsserted(() -> assertThat(RECEIVED).containsExactly("{\"id\":\"1\"}"));
            JdbcClient orders = JdbcClient.create(context.getBean("ordersDataSource", DataSource.class));
            assertThat(orders.sql("SELECT COUNT(*) FROM outbox_event")
                            .query(Integer.class)
                            .single())
                    .isZero();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(TwoDatabases.class)
    static class Both {

        @Bean
        DataSource ordersDataSource() {
            return database();
        }

        @Bean
        DataSource billingDataSource() {
            return database();
        }

        private static DataSource database() {
            return new EmbeddedDatabaseBuilder()
                    .setType(EmbeddedDatabaseType.H2)
                    .generateUniqueName(true)
                    .build();
        }

        @Bean
        PlatformTransactionManager ordersTransactionManager(DataSource ordersDataSource) {
            return new DataSourceTransactionManager(ordersDataSource);
        }

        @Bean
        PlatformTransactionManager billingTransactionManager(DataSource billingDataSource) {
            return new DataSourceTransactionManager(billingDataSource);
        }

        @Bean
        InvoiceListener invoiceListener() {
            return new InvoiceListener();
        }
    }

    static class InvoiceListener {

        @OutboxListener(type = "invoice.sent", outbox = "billing")
        void sent(String json) {
            RECEIVED.add(json);
        }
    }
}
