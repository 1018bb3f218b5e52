package outbox.spring;

import outbox.payload.PayloadTypes;

/** Registers payload types and upcasters: all beans of this type are asked, in their order. What is not registered is read and written as its class says, in one version. */
@FunctionalInterface
public interface PayloadTypesCustomizer {

    void customize(PayloadTypes.Builder types);
}
