package outbox.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextAware;
import org.springframework.context.ApplicationListener;
import org.springframework.context.PayloadApplicationEvent;
import org.springframework.util.ConcurrentReferenceHashMap;
import outbox.EventEnvelope;
import outbox.OutboxWriter;
import outbox.TransactionStateException;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadTypes;

import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;

/**
 * Writes objects with {@link OutboxEvent} that are published as application events, in the transaction and on the
 * thread of the publisher. If an object cannot be written, the publication throws, so that the transaction rolls
 * back. In a hierarchy of application contexts, only the writer of the topmost context that has one writes.
 *
 * <pre>{@code
 * @Bean
 * OutboxEventWriter outboxEvents(OutboxWriter writer, PayloadCodec codec) {
 *     return new OutboxEventWriter(writer, codec);
 * }
 * }</pre>
 */
public final class OutboxEventWriter
        implements ApplicationListener<PayloadApplicationEvent<?>>, ApplicationContextAware {

    private final Function<String, @Nullable OutboxWriter> writers;
    private final PayloadCodec codec;
    private final @Nullable PayloadTypes types;
    private final Map<Class<?>, Optional<EventForm>> forms = new ConcurrentReferenceHashMap<>();
    private @Nullable ConfigurableBeanFactory
            beans; // set before the first publication; resolves placeholders but no expressions
    private boolean leftToParent; // set before the first publication

    /** Creates a writer for the single outbox of an application. */
    public OutboxEventWriter(OutboxWriter writer, PayloadCodec codec) {
        this(outbox -> outbox.equals(Outbox.DEFAULT) ? writer : null, codec, null);
    }

    /**
     * Creates a writer for several outboxes.
     *
     * @param writers returns the writer by the name of the outbox, or null if the outbox does not exist or this
     *     process does not write to it
     * @param types if not null, the version of an event must match the registered version
     */
    public OutboxEventWriter(
            Function<String, @Nullable OutboxWriter> writers, PayloadCodec codec, @Nullable PayloadTypes types) {
        this.writers = Objects.requireNonNull(writers, "writers");
        this.codec = Objects.requireNonNull(codec, "codec");
        this.types = types;
    }

    @Override
    public void setApplicationContext(ApplicationContext context) {
        beans = (ConfigurableBeanFactory) context.getAutowireCapableBeanFactory();
        ApplicationContext parent = context.getParent();
        leftToParent = parent != null
                && BeanFactoryUtils.beanNamesForTypeIncludingAncestors(parent, OutboxEventWriter.class, true, false)
                                .length
                        > 0;
    }

    /** Returns false: another thread would have another transaction, or none. */
    @Override
    public boolean supportsAsyncExecution() {
        return false;
    }

    @Override
    public void onApplicationEvent(PayloadApplicationEvent<?> published) {
        Object object = published.getPayload();
        EventForm form = leftToParent ? null : formOf(object.getClass());
        if (form != null) {
            write(form, object);
        }
    }

    private void write(EventForm form, Object object) {
        String name = object.getClass().getName();
        OutboxWriter writer = writers.apply(form.outbox());
        if (writer == null) {
            throw new IllegalStateException("A " + name + " was published for outbox '" + form.outbox()
                    + "', which does not exist or is not written to by this process");
        }
        EventEnvelope event = form.event(object, payload(form, object));
        try {
            writer.write(event);
        } catch (TransactionStateException e) {
            throw new TransactionStateException("A " + name + " was published that belongs into outbox '"
                    + form.outbox() + "', but cannot be written: " + e.getMessage());
        }
    }

    private String payload(EventForm form, Object object) {
        if (types == null || types.typeOf(form.type()).isEmpty()) {
            return codec.write(object);
        }
        EventEnvelope registered = types.event(form.type(), object).build();
        if (registered.schemaVersion() != form.version()) {
            throw new IllegalStateException(
                    "@OutboxEvent on " + object.getClass().getName() + " has version "
                            + form.version() + ", but event type " + form.type() + " is registered with version "
                            + registered.schemaVersion());
        }
        return registered.payloadJson();
    }

    private @Nullable EventForm formOf(Class<?> type) {
        return forms.computeIfAbsent(type, key -> Optional.ofNullable(EventForm.of(key, this::text)))
                .orElse(null);
    }

    private String text(String text) {
        String resolved = beans == null ? text : beans.resolveEmbeddedValue(text);
        return resolved == null ? "" : resolved.trim();
    }
}
