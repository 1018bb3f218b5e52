package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.admin.EventAdministration.ClaimHolder;
import outbox.internal.text.PrintableText;
import outbox.jdbc.JdbcLeadership;
import outbox.jdbc.LeaderInfo;
import picocli.CommandLine.Command;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** Shows the nodes that deliver the events of a table. */
@Command(
        name = "nodes",
        aliases = "leader",
        mixinStandardHelpOptions = true,
        description = {
            "Shows which session leads a table, and which nodes hold claims on its events, since when.",
            "A node that lives renews its claims; one that is gone: outbox release."
        })
final class NodesCommand extends ReadCommand {

    NodesCommand(Io io) {
        super(io);
    }

    @Override
    public Integer call() throws Exception {
        Target target = database.target(io, table);
        Optional<LeaderInfo> leader = leader(target);
        List<ClaimHolder> holders = target.admin().claimHolders();
        Instant now = target.now();
        if (json) {
            io.print(new Answer()
                    .with("table", table)
                    .with("at", now)
                    .with("leader", leader.map(NodesCommand::answer).orElse(null))
                    .with("nodes", holders.stream().map(NodesCommand::answer).toList()));
            return ExitCode.OK;
        }
        io.print(PrintableText.of(leader.map(NodesCommand::words).orElse("No session leads " + table + ".")));
        if (holders.isEmpty()) {
            io.print("Nobody holds claims on events of " + table + ".");
        } else {
            print(holders, now);
        }
        return ExitCode.OK;
    }

    /**
     * The leader under the table name with its schema, which the relay uses, or under the plain name, which
     * applications may use.
     */
    static Optional<LeaderInfo> leader(Target target) throws SQLException {
        String name = target.subject().table();
        String qualified = Target.qualified(target.database(), target.subject().database(), name);
        Optional<LeaderInfo> leader = JdbcLeadership.leaderOf(target.database(), qualified);
        return leader.isPresent() || qualified.equals(name) ? leader : JdbcLeadership.leaderOf(target.database(), name);
    }

    private static Answer answer(LeaderInfo leader) {
        return new Answer()
                .with("session", leader.session())
                .with("application", leader.application())
                .with("host", leader.host())
                .with("since", leader.since());
    }

    private static Answer answer(ClaimHolder holder) {
        return new Answer()
                .with("node", holder.node())
                .with("events", holder.events())
                .with("oldestClaim", holder.oldest())
                .with("newestClaim", holder.newest());
    }

    private static String words(LeaderInfo leader) {
        return "Led by session " + leader.session() + part(", application ", leader.application())
                + part(", host ", leader.host()) + part(", connected since ", leader.since()) + ".";
    }

    private static String part(String before, @Nullable Object value) {
        return value == null ? "" : before + value;
    }

    private void print(List<ClaimHolder> holders, Instant now) {
        TextTable rows = new TextTable("NODE", "EVENTS", "OLDEST CLAIM", "LAST CLAIM OR RENEWAL", "SILENT FOR");
        for (ClaimHolder holder : holders) {
            String node = holder.node();
            rows.add(
                    node == null ? "(the table does not keep it)" : node,
                    holder.events(),
                    holder.oldest(),
                    holder.newest(),
                    Duration.between(holder.newest(), now));
        }
        rows.print(io.out());
    }
}
