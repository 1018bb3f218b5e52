package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.admin.OutboxAdmin;
import outbox.model.EventStatus;
import outbox.spi.EventOrder.BlockedAggregate;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Shows the aggregates whose later events wait for an event that is dead or fails. */
@Command(
        name = "blocked",
        mixinStandardHelpOptions = true,
        description = {
            "Lists aggregates that have a dead event in their order, and those whose first event fails while others"
                    + " wait.",
            "Needs a table that keeps an order. What to do: outbox replay, or outbox skip."
        })
final class BlockedCommand extends ReadCommand {

    private static final int SHOWN_ERROR = 60;

    @Option(names = "--limit", defaultValue = "50", description = "aggregates, 1 to 1000; default ${DEFAULT-VALUE}")
    private int limit;

    BlockedCommand(Io io) {
        super(io);
    }

    /** One aggregate and the event at its head. */
    private record Blocked(
            @Nullable String aggregateType,
            @Nullable String aggregateId,
            String eventId,
            String eventType,
            EventStatus head,
            @Nullable Object since,
            long waiting,
            long alsoDead,
            @Nullable String error) {}

    @Override
    public Integer call() throws Exception {
        Target target = database.target(io, table);
        target.requireEventTable("order");
        List<Blocked> blocked = new ArrayList<>();
        for (BlockedAggregate dead : target.admin().blockedAggregates(limit)) {
            blocked.add(new Blocked(
                    dead.aggregateType(),
                    dead.aggregateId(),
                    dead.eventId(),
                    dead.eventType(),
                    EventStatus.DEAD,
                    dead.deadSince(),
                    dead.waiting(),
                    dead.alsoDead(),
                    dead.lastError()));
        }
        addFailing(target.admin(), blocked);
        if (json) {
            io.print(new Answer()
                    .with("table", table)
                    .with(
                            "aggregates",
                            blocked.stream().map(BlockedCommand::answer).toList()));
        } else if (blocked.isEmpty()) {
            io.warn("No aggregate of " + table + " is blocked.");
        } else {
            print(blocked);
        }
        return ExitCode.OK;
    }

    /** Adds aggregates whose first pending event waits for a retry while later events wait for it. */
    private void addFailing(OutboxAdmin admin, List<Blocked> blocked) {
        Set<String> known = new HashSet<>();
        blocked.forEach(one -> known.add(one.aggregateType() + "\n" + one.aggregateId()));
        EventQuery retries = query(EventFilter.builder().status(EventStatus.RETRY), OutboxAdmin.MAX_BLOCKED);
        for (EventSummary head : admin.find(retries).events()) {
            String id = head.aggregateId();
            if (blocked.size() >= limit || id == null || !known.add(head.aggregateType() + "\n" + id)) {
                continue;
            }
            EventFilter.Builder same = EventFilter.builder()
                    .status(EventStatus.NEW, EventStatus.RETRY)
                    .aggregateId(id);
            String type = head.aggregateType();
            if (type != null) {
                same.aggregateType(type);
            }
            List<EventSummary> all =
                    admin.find(query(same, EventQuery.MAX_PAGE_SIZE)).events();
            if (all.size() > 1 && all.get(0).eventId().equals(head.eventId())) {
                blocked.add(new Blocked(
                        type,
                        id,
                        head.eventId(),
                        head.eventType(),
                        EventStatus.RETRY,
                        head.createdAt(),
                        all.size() - 1L,
                        0,
                        head.errorStart()));
            }
        }
    }

    private static EventQuery query(EventFilter.Builder filter, int size) {
        return EventQuery.builder()
                .filter(filter.build())
                .order(EventQuery.Order.OLDEST_FIRST)
                .pageSize(size)
                .build();
    }

    private static Answer answer(Blocked one) {
        return new Answer()
                .with("aggregateType", one.aggregateType())
                .with("aggregateId", one.aggregateId())
                .with("eventId", one.eventId())
                .with("eventType", one.eventType())
                .with("head", one.head())
                .with("since", one.since())
                .with("waiting", one.waiting())
                .with("alsoDead", one.alsoDead())
                .with("lastError", one.error());
    }

    private void print(List<Blocked> blocked) {
        TextTable rows =
                new TextTable("AGGREGATE", "TYPE", "HEAD", "EVENT", "EVENT TYPE", "SINCE", "WAITING", "DEAD", "ERROR");
        for (Blocked one : blocked) {
            rows.add(
                    one.aggregateId(),
                    one.aggregateType(),
                    one.head(),
                    one.eventId(),
                    one.eventType(),
                    one.since(),
                    one.waiting(),
                    one.alsoDead(),
                    TextTable.cut(one.error(), SHOWN_ERROR));
        }
        rows.print(io.out());
    }
}
