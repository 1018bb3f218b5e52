package outbox.jdbc;

import outbox.EventEnvelope;
import outbox.testing.contract.EventStoreContract;
import outbox.testing.contract.StoreFixture;

import java.util.UUID;

/** The store contract on the module layout, which identifies claims by their lock time. */
class ModuleLayoutTest extends EventStoreContract {

    @Override
    protected StoreFixture createFixture() {
        return LayoutFixture.module();
    }

    @Override
    protected EventEnvelope.Builder event(String type) {
        return EventEnvelope.builder(type)
                .eventId(UUID.randomUUID().toString())
                .tenantId(ModuleTable.TENANT.toString());
    }

    @Override
    protected String idWithLetters() {
        return "abcdef00-0000-4000-8000-0000000000ab";
    }

    @Override
    protected boolean comparesIdsByBytes() {
        return false;
    }

    @Override
    protected boolean keepsTextVerbatim() {
        return false; // jsonb does not keep the text
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
        return false;
    }

    @Override
    protected boolean keepsTenants() {
        return false; // only UUIDs are valid
    }

    @Override
    protected boolean keepsHeaders() {
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

    @Override
    protected int attemptsOfDead(int attempts) {
        return 25; // the table represents a dead event by the maximum of attempts
    }
}
