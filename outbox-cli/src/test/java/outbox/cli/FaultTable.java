package outbox.cli;

import outbox.cli.doctor.TableKind;

/** One table of each kind, with the PostgreSQL statements that write to it. */
enum FaultTable {
    EVENT(
            "outbox_event",
            TableKind.EVENT,
            "INSERT INTO outbox_event (event_id, event_type, payload, status, available_at, created_at)"
                    + " SELECT gen_random_uuid(), 'order.placed', '{}', 0, now(), now() FROM generate_series(1, $n)",
            "status = 1, done_at = now()",
            "status = 3, done_at = now(), attempts = 25, last_error = 'ConnectException: port ' ||"
                    + " ascii(event_id::text)",
            "outbox_event_pkey",
            "seq",
            "outbox_event_numbers"),
    MODULE(
            "org_outbox",
            TableKind.MODULE,
            "INSERT INTO org_outbox (tenant_id, topic, payload, event_id)"
                    + " SELECT gen_random_uuid(), 'org.organization.created.v1', '{}', gen_random_uuid()"
                    + " FROM generate_series(1, $n)",
            "published_at = now()",
            "attempts = 25, last_error = 'ConnectException: port ' || ascii(event_id::text)",
            "org_outbox_event_id_key",
            "sequence",
            "org_outbox_sequence_seq"),
    TEXT_STATUS(
            "outbox_events",
            TableKind.TEXT_STATUS,
            "INSERT INTO outbox_events (event_id, event_type, aggregate_type, aggregate_id, payload, status,"
                    + " create_time, update_time) SELECT gen_random_uuid(), 'order.placed', 'order', 1, '{}', 'NEW',"
                    + " now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC' FROM generate_series(1, $n)",
            "status = 'SENT'",
            "status = 'FAILED', retry_count = 25",
            "outbox_events_event_id_key",
            "id",
            "outbox_events_id_seq");

    private final String table;
    private final TableKind kind;
    private final String insert;
    private final String done;
    private final String dead;
    private final String unique;
    private final String numbers;
    private final String sequence;

    FaultTable(
            String table,
            TableKind kind,
            String insert,
            String done,
            String dead,
            String unique,
            String numbers,
            String sequence) {
        this.table = table;
        this.kind = kind;
        this.insert = insert;
        this.done = done;
        this.dead = dead;
        this.unique = unique;
        this.numbers = numbers;
        this.sequence = sequence;
    }

    String table() {
        return table;
    }

    /** Replaces the placeholders in a text by the names of this table. */
    String fill(String text) {
        return text.replace("$table", table)
                .replace("$due", kind.due())
                .replace("$created", kind.created())
                .replace("$unique", unique)
                .replace("$numbers", numbers)
                .replace("$sequence", sequence)
                .replace("$dead", dead);
    }

    /** Creates the table with a few delivered and a few new events. */
    Shop create(String url) throws Exception {
        Shop shop;
        if (this == EVENT) {
            shop = Shop.at(url);
        } else {
            shop = Shop.bare(url);
            Run.of("schema", "apply", "--table", table, "--yes", "--url", url);
        }
        write(shop, 20);
        shop.execute("UPDATE " + table + " SET " + done);
        write(shop, 3);
        return shop;
    }

    void write(Shop shop, int events) throws Exception {
        shop.execute(insert(events));
    }

    String insert(int events) {
        return insert.replace("$n", String.valueOf(events));
    }

    String pending() {
        return kind.pending(25);
    }
}
