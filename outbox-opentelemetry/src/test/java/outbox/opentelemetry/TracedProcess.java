package outbox.opentelemetry;

import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import org.h2.jdbcx.JdbcDataSource;
import outbox.EventEnvelope;
import outbox.EventListener;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.dispatch.DispatcherPollerHandler;
import outbox.dispatch.OutboxDispatcher;
import outbox.jdbc.H2EventStore;
import outbox.jdbc.JdbcTransactionManager;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.ThreadLocalTxContext;
import outbox.poller.OutboxPoller;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.UnaryOperator;
import javax.sql.DataSource;

/** A simulated process with its own SDK. Several of them share only a database. */
final class TracedProcess implements AutoCloseable {

    final InMemorySpanExporter exporter = InMemorySpanExporter.create();
    final OpenTelemetrySdk sdk = OpenTelemetrySdk.builder()
            .setTracerProvider(SdkTracerProvider.builder()
                    .addSpanProcessor(SimpleSpanProcessor.create(exporter))
                    .build())
            .build();
    final OutboxTracing tracing = OutboxTracing.of(sdk);
    private final DataSource dataSource;
    private final H2EventStore store = new H2EventStore();
    private final ThreadLocalTxContext txContext = new ThreadLocalTxContext();
    private final JdbcTransactionManager transactions;
    private final List<Runnable> running = new ArrayList<>(); // closes its parts

    TracedProcess(DataSource dataSource) {
        this.dataSource = dataSource;
        this.transactions = new JdbcTransactionManager(dataSource::getConnection, txContext);
    }

    static DataSource newDatabase() {
        JdbcDataSource dataSource = new JdbcDataSource();
        dataSource.setURL("jdbc:h2:mem:" + UUID.randomUUID() + ";DB_CLOSE_DELAY=-1");
        OutboxSchema.create(dataSource, new H2EventStore());
        return dataSource;
    }

    OutboxWriter plainWriter() {
        return new OutboxWriter(txContext, store);
    }

    /** Returns a writer whose events go to the dispatcher right after the commit. */
    OutboxWriter hotWriter(OutboxDispatcher dispatcher) {
        return new OutboxWriter(txContext, store, new DispatcherCommitHook(dispatcher)).interceptedBy(tracing.writes());
    }

    OutboxWriter writer() {
        return plainWriter().interceptedBy(tracing.writes());
    }

    /** Writes in a transaction. Exceptions of the writer are passed on. */
    void write(OutboxWriter writer, EventEnvelope... events) {
        try (JdbcTransactionManager.Transaction tx = transactions.begin()) {
            writer.writeAll(List.of(events));
            tx.commit();
        }
    }

    void write(EventEnvelope... events) {
        write(writer(), events);
    }

    /** Writes inside a span and returns that span. */
    @SuppressWarnings("try") // the scope variable is not used
    Span writeInSpan(EventEnvelope... events) {
        Span request = sdk.getTracer("test").spanBuilder("POST /orders").startSpan();
        try (var scope = request.makeCurrent()) {
            write(events);
        } finally {
            request.end();
        }
        return request;
    }

    OutboxDispatcher deliver(EventListener listener) {
        return deliver(tracing, listener, builder -> builder);
    }

    OutboxDispatcher deliver(
            OutboxTracing by, EventListener listener, UnaryOperator<OutboxDispatcher.Builder> settings) {
        OutboxDispatcher dispatcher = settings.apply(OutboxDispatcher.builder()
                        .connectionProvider(dataSource::getConnection)
                        .eventStore(store)
                        .listenerRegistry((aggregateType, eventType) -> listener)
                        .retryPolicy(attempts -> 0)
                        .interceptor(by.deliveries()))
                .build();
        OutboxPoller poller = OutboxPoller.builder()
                .connectionProvider(dataSource::getConnection)
                .eventStore(store)
                .handler(new DispatcherPollerHandler(dispatcher))
                .intervalMs(20)
                .build();
        running.add(poller::close);
        running.add(dispatcher::close);
        poller.start();
        return dispatcher;
    }

    List<SpanData> spans(String name) {
        return exporter.getFinishedSpanItems().stream()
                .filter(span -> span.getName().equals(name))
                .toList();
    }

    @Override
    public void close() {
        running.forEach(Runnable::run);
        sdk.close();
    }

    static OutboxTracing without() {
        return OutboxTracing.of(OpenTelemetry.noop());
    }
}
