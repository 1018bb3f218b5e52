package outbox.spring.boot.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import outbox.OutboxWriter;
import outbox.payload.PayloadCodec;
import outbox.payload.PayloadTypes;
import outbox.spring.OutboxEventWriter;
import outbox.spring.boot.OutboxInstance;
import outbox.spring.boot.internal.ConditionalOnOutbox;
import outbox.spring.boot.internal.OutboxBeans;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** Writes objects with {@code @OutboxEvent} to the outbox when they are published as application events. */
@AutoConfiguration(after = {OutboxAutoConfiguration.class, OutboxPayloadAutoConfiguration.class})
@ConditionalOnOutbox
@ConditionalOnBooleanProperty(name = "outbox.event.enabled", matchIfMissing = true)
@ConditionalOnBean({OutboxInstance.class, PayloadCodec.class})
final class OutboxEventAutoConfiguration {

    @Bean
    @ConditionalOnMissingBean
    static OutboxEventWriter outboxEventWriter(
            ListableBeanFactory beans, PayloadCodec codec, ObjectProvider<PayloadTypes> types) {
        return new OutboxEventWriter(new Writers(beans), codec, types.getIfAvailable());
    }

    /**
     * The writers by the name of their outbox. A writer is looked up with the first event: an application event
     * during the start must not create the outbox too early. Thread-safe.
     */
    private static final class Writers implements Function<String, @Nullable OutboxWriter> {

        private final ListableBeanFactory beans;
        private final Map<String, OutboxWriter> known = new ConcurrentHashMap<>();

        Writers(ListableBeanFactory beans) {
            this.beans = beans;
        }

        @Override
        public @Nullable OutboxWriter apply(String outbox) {
            OutboxWriter writer = known.get(outbox);
            if (writer == null) {
                writer = find(outbox);
                if (writer != null) {
                    known.put(outbox, writer);
                }
            }
            return writer;
        }

        /**
         * Returns the writer bean of the application, else the writer of the outbox. Returns null if the outbox does
         * not exist or this process does not write to it.
         */
        private @Nullable OutboxWriter find(String outbox) {
            OutboxInstance instance = beans.getBeanProvider(OutboxInstance.class).stream()
                    .filter(one -> one.name().equals(outbox))
                    .findFirst()
                    .orElse(null);
            if (instance == null) {
                return null;
            }
            OutboxWriter own = new OutboxBeans(beans).own(OutboxWriter.class, outbox);
            return own == null ? instance.writer() : own;
        }
    }
}
