package outbox.spring;

import outbox.payload.PayloadTypes;

/**
 * Registers payload types and upcasters. All beans of this type are called in their order. Versions matter only for
 * registered types. The payload of any other event is read as the parameter class of its listener, and its version
 * is ignored.
 */
@FunctionalInterface
public interface PayloadTypesCustomizer {

    void customize(PayloadTypes.Builder types);
}
