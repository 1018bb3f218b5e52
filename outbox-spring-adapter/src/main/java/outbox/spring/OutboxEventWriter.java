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
 * Writes objects with {@link OutboxEvent} that are published as application events, in the transaction and on the thread of whoever publishes them. What cannot be written is refused there, so the
 * transaction rolls back. In a hierarchy of contexts the one of the highest context writes.
 *
 * <pre>{@code
 * @Bean OutboxEventWriter outboxEvents(OutboxWriter writer, PayloadCodec codec) { return new OutboxEventWriter(writer, codec); }
 * }</pre>
 */
public final class OutboxEventWriter
        implements ApplicationListener<PayloadApplicationEvent<?>>, ApplicationContextAware {

    private final Function<String, @Nullable OutboxWriter> writers;
    private final PayloadCodec codec;
    private final @Nullable PayloadTypes types;
    private final Map<Class<?>, Optional<EventForm>> forms = new ConcurrentReferenceHashMap<>();
    private @Nullable ConfigurableBeanFactory
            beans; // set before anything is published, as the next; resolves placeholders, and leaves expressions alone
    private boolean leftToParent;

    /** For the only outbox of an application. */
    public OutboxEventWriter(OutboxWriter writer, PayloadCodec codec) {
        this(outbox -> outbox.equals(Outbox.DEFAULT) ? writer : null, codec, null);
    }

    /**
     * For outboxes by their names.
     *
     * @param writers null for an outbox that does not exist, or is not written to by this process
     * @param types null, or those that the version of an event must agree with
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

    /** Another thread would have another transaction, or none. */
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
