package outbox.spring;

import outbox.payload.PayloadTypes;

/** Registers payload types and upcasters: all beans of this type are asked, in their order. Versions count only for what is registered: the payload of another event is read as the class that its listener takes, whatever its version. */
@FunctionalInterface
public interface PayloadTypesCustomizer {

    void customize(PayloadTypes.Builder types);
}
