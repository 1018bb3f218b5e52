package outbox.guide;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import outbox.spring.OutboxEvent;
import outbox.spring.PayloadTypesCustomizer;

/** An event whose payload format has changed. */
@Configuration(proxyBeanMethods = false)
class ParcelVersions {

    @OutboxEvent(type = "parcel.sent", version = 2)
    record ParcelSent(String id, int grams) {}

    record ParcelSentV1(String id, int kilos) {} // as it was

    @Bean
    static PayloadTypesCustomizer parcelTypes() {
        return types -> types.type("parcel.sent", 2, ParcelSent.class)
                .upcast("parcel.sent", 1, ParcelSentV1.class, old -> new ParcelSent(old.id(), 1000 * old.kilos()));
    }
}
