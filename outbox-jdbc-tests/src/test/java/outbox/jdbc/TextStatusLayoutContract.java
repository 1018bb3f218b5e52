package outbox.jdbc;

import outbox.EventEnvelope;
import outbox.testing.contract.EventStoreContract;

/** The store contract on the layout with a text status. The leader keeps its claims in memory. */
abstract class TextStatusLayoutContract extends EventStoreContract {

    @Override
    protected EventEnvelope.Builder event(String type) {
        return EventEnvelope.builder(type).aggregateType("Order").aggregateId("7");
    }

    @Override
    protected boolean keepsOccurredAt() {
        return false;
    }

    @Override
    protected boolean keepsBytes() {
        return false;
    }

    @Override
    protected boolean keepsAggregates() {
        return false; // only numbers are valid
    }

    @Override
    protected boolean keepsTenants() {
        return false;
    }

    @Override
    protected boolean keepsHeaders() {
        return false;
    }

    @Override
    protected boolean keepsErrors() {
        return false;
    }

    @Override
    protected boolean keepsTimeOfDeath() {
        return false;
    }

    @Override
    protected boolean bearsLeased() {
        return false;
    }
}
