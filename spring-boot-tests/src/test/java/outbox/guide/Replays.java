package outbox.guide;

import outbox.admin.AdminRequest;
import outbox.admin.AdminResult;
import outbox.admin.EventFilter;
import outbox.admin.OutboxAdmin;

/** Replays dead events. */
class Replays {

    private final OutboxAdmin admin;

    Replays(OutboxAdmin admin) {
        this.admin = admin;
    }

    AdminResult replayInvoices() {
        return admin.replay(AdminRequest.builder()
                .filter(EventFilter.builder()
                        .eventType("invoice.sent")
                        .errorContains("does not take")
                        .build())
                .actor("ada")
                .reason("the CRM was repaired, ticket 17")
                .confirmed(true) // without this it is a dry run
                .build());
    }
}
