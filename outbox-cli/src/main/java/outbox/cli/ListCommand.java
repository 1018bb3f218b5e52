package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventFilter;
import outbox.admin.EventQuery;
import outbox.admin.EventSummary;
import outbox.model.EventStatus;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.sql.SQLException;

/** Lists events without their payloads, one page at a time. */
@Command(
        name = "list",
        mixinStandardHelpOptions = true,
        description = "Lists events, the newest first, without their payloads.")
final class ListCommand extends ReadCommand {

    private static final int SHOWN_ERROR = 60;

    @Mixin
    private FilterOptions filter = new FilterOptions();

    @Option(
            names = "--limit",
            defaultValue = "50",
            description = "events per page, 1 to 1000; default ${DEFAULT-VALUE}")
    private int limit;

    @Option(names = "--after", paramLabel = "CURSOR", description = "where the page before ended")
    private @Nullable String after;

    @Option(names = "--oldest-first", description = "in the other direction")
    private boolean oldestFirst;

    @Option(names = "--overdue", description = "only events that wait although their time has come, the oldest first")
    private boolean overdue;

    ListCommand(Io io) {
        super(io);
    }

    @Override
    public Integer call() throws Exception {
        Target target = database.target(io, table);
        EventQuery.Builder query = EventQuery.builder()
                .filter(overdue ? overdue(target) : filter.filter())
                .pageSize(limit)
                .order(oldestFirst || overdue ? EventQuery.Order.OLDEST_FIRST : EventQuery.Order.NEWEST_FIRST);
        if (after != null) {
            query.after(EventQuery.Cursor.parse(after));
        }
        EventQuery.Page page = target.admin().find(query.build());
        EventQuery.Cursor next = page.next();
        if (json) {
            io.print(new Answer()
                    .with("table", table)
                    .with("events", page.events().stream().map(Events::answer).toList())
                    .with("next", next == null ? null : next.text()));
        } else {
            print(page);
            if (next != null) {
                io.warn("More: --after " + next.text());
            }
        }
        return ExitCode.OK;
    }

    private EventFilter overdue(Target target) throws SQLException {
        EventFilter.Builder conditions = filter.builder();
        if (!filter.hasStatus()) {
            conditions.status(EventStatus.NEW, EventStatus.RETRY);
        }
        return conditions.dueBefore(target.now()).build();
    }

    private void print(EventQuery.Page page) {
        TextTable rows = new TextTable("EVENT", "TYPE", "AGGREGATE", "STATUS", "ATTEMPTS", "CREATED", "DUE", "ERROR");
        for (EventSummary event : page.events()) {
            rows.add(
                    event.eventId(),
                    event.eventType(),
                    event.aggregateId(),
                    Events.status(event),
                    event.attempts(),
                    event.createdAt(),
                    event.availableAt(),
                    TextTable.cut(event.errorStart(), SHOWN_ERROR));
        }
        rows.print(io.out());
    }
}
