package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.cli.doctor.Doctor;
import outbox.cli.doctor.Finding;
import outbox.cli.doctor.Report;
import outbox.cli.doctor.Subject;
import outbox.cli.doctor.TableKind;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.AttemptLimits;
import outbox.jdbc.Capability;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.LayoutEventStore;
import outbox.jdbc.LayoutSchema;
import outbox.jdbc.ModulePartitions;
import outbox.jdbc.OutboxSchema;
import outbox.jdbc.TableLayout;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.Callable;

/** Prints the DDL of the tables, verifies the tables, or creates them. */
@Command(
        name = "schema",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "(print | check | apply)",
        description = "Prints the DDL, checks what is there against it, or applies what is missing.")
final class SchemaCommand {

    static CommandLine commandLine(Io io) {
        return new CommandLine(new SchemaCommand())
                .addSubcommand(new Print(io))
                .addSubcommand(new Check(io))
                .addSubcommand(new Apply(io));
    }

    /** The table, its kind and its features. */
    static final class TableOptions {

        @Option(names = "--table", defaultValue = "outbox_event", description = "default ${DEFAULT-VALUE}")
        private String table = "";

        @Option(
                names = "--layout",
                paramLabel = "LAYOUT",
                description = "${COMPLETION-CANDIDATES}; default: as the table is, or MODULE for a name that ends"
                        + " with _outbox")
        private @Nullable TableKind layout;

        @Option(
                names = "--with",
                split = ",",
                paramLabel = "FEATURE",
                description = "what the table must be able to do beyond the plain outbox: ${COMPLETION-CANDIDATES}")
        private Feature[] features = {};

        @Option(
                names = "--partitioned",
                description = "a module's table in partitions by day, whose old days are dropped; PostgreSQL only")
        private boolean partitioned;

        /** Refuses partitions for a database or kind of table that does not support them. */
        boolean isPartitioned(String product, TableKind kind) {
            if (partitioned && (!product.equals("postgresql") || kind != TableKind.MODULE)) {
                throw new SettingsException("Only a table of layout MODULE on PostgreSQL can have partitions. Leave out"
                        + " --partitioned, or add --layout MODULE.");
            }
            return partitioned;
        }

        String table(String product) {
            return Database.table(product, table);
        }

        /** Refuses features that do not fit the kind of table. */
        List<Feature> features(TableKind kind) {
            List<Feature> all = List.of(features);
            all.forEach(feature -> feature.check(kind));
            return all;
        }

        /** The kind of table, without a query to the database. */
        TableKind kind() {
            return layout != null ? layout : TableKind.named(table);
        }

        Subject subject(Database database, int maxAttempts) throws SQLException {
            try (Connection connection = database.getConnection()) {
                String name = table(database.product());
                TableKind kind = layout != null
                        ? layout
                        : Doctor.kindOf(connection, name).orElse(TableKind.named(name));
                return Target.subject(database, name, kind, maxAttempts);
            }
        }
    }

    /** A subcommand for a table, which need not exist. */
    private abstract static class Step implements Callable<Integer> {

        final Io io;

        @Mixin
        DatabaseOptions database = new DatabaseOptions();

        @Mixin
        TableOptions table = new TableOptions();

        Step(Io io) {
            this.io = io;
        }
    }

    @Command(name = "print", mixinStandardHelpOptions = true, description = "Prints the DDL; needs no connection.")
    static final class Print extends Step {

        @Option(
                names = "--store",
                paramLabel = "NAME",
                description = "h2, mysql or postgresql; default: as the URL says")
        private @Nullable String store;

        @Option(
                names = "--down",
                description =
                        "the way back: drops the table; tables that other outbox tables may share are in comments")
        private boolean down;

        Print(Io io) {
            super(io);
        }

        @Override
        public Integer call() {
            String name = store != null
                    ? store
                    : JdbcEventStores.detect(database.settings(io)
                                    .text(Setting.JDBC_URL)
                                    .orElseThrow(() -> new SettingsException(
                                            "Name the database by --store postgresql, mysql or h2, or by --url.")))
                            .name();
            TableKind kind = table.kind();
            AbstractJdbcEventStore eventStore = JdbcEventStores.get(name, table.table(name));
            List<Feature> features = table.features(kind);
            boolean partitioned = table.isPartitioned(name, kind);
            io.print(
                    down
                            ? SchemaScript.down(eventStore, kind, features, partitioned)
                            : SchemaScript.of(eventStore, kind, features, partitioned));
            return ExitCode.OK;
        }
    }

    @Command(name = "check", mixinStandardHelpOptions = true, description = "Tells what is missing; changes nothing.")
    static final class Check extends Step {

        @Option(names = "--json", description = "for programs")
        private boolean json;

        Check(Io io) {
            super(io);
        }

        @Override
        public Integer call() throws Exception {
            Database db = database.database(io);
            Subject subject = table.subject(db, database.maxAttempts(io).number());
            Map<String, String> expected = Feature.columns(table.features(subject.kind()), db.product());
            try (Connection connection = db.getConnection()) {
                List<Finding> findings = Doctor.checkSchema(connection, subject, expected, database.repeated());
                Report report = new Report(findings, List.of(), List.of());
                DoctorCommand.print(io, json, subject.table(), report);
                return findings.isEmpty() ? ExitCode.OK : ExitCode.PROBLEM;
            }
        }
    }

    @Command(
            name = "apply",
            mixinStandardHelpOptions = true,
            description = "Creates what is missing, after showing the DDL and asking.")
    static final class Apply extends Step {

        private static final int DAYS_AHEAD = 7; // the same number that a purge keeps

        @Option(names = "--yes", description = "do it without asking")
        private boolean yes;

        Apply(Io io) {
            super(io);
        }

        @Override
        public Integer call() throws SQLException {
            Database db = database.schemaDatabase(io);
            MaxAttempts maxAttempts = database.maxAttempts(io);
            Subject subject = table.subject(db, maxAttempts.number());
            boolean changesLimit = maxAttempts.isGiven() && subject.kind() == TableKind.MODULE;
            List<Feature> features = table.features(subject.kind());
            boolean isPartitioned = table.isPartitioned(db.product(), subject.kind());
            if (isPartitioned) {
                requireRoomForPartitions(db, subject);
            }
            AbstractJdbcEventStore store = db.store(subject.table());
            boolean mergesTables = subject.kind() == TableKind.EVENT && OutboxSchema.hasControlTable(db, store);
            io.print(SchemaScript.of(store, subject.kind(), features, isPartitioned));
            if (mergesTables) {
                io.print("-- and moves the rows of " + subject.table()
                        + "_control, a table of an earlier version,"
                        + " to " + subject.table() + ". Stop all nodes of the earlier version first:\n"
                        + String.join(";\n", OutboxSchema.controlTableStatements(store)) + ";");
            }
            if (isPartitioned) {
                io.print("-- and a partition for today and each of the " + DAYS_AHEAD
                        + " days after it; outbox relay makes the later ones");
            }
            if (changesLimit) {
                io.print(limitChange(db, subject));
            }
            if (!yes && !io.confirms("Create what is missing of it?")) {
                io.warn("Nothing was changed. Confirm it on a terminal, or by --yes.");
                return ExitCode.NOT_CONFIRMED;
            }
            if (isPartitioned && subject.store() instanceof LayoutEventStore layout) {
                LayoutSchema.createPartitioned(db, layout);
                new ModulePartitions(db, layout).createAhead(DAYS_AHEAD);
            } else if (subject.store() instanceof LayoutEventStore layout) {
                LayoutSchema.create(db, layout);
            } else {
                // so that delivery can be paused
                OutboxSchema.create(db, store, Capability.PAUSES);
            }
            features.forEach(feature -> feature.create(db, subject));
            if (mergesTables) {
                OutboxSchema.mergeControlTable(db, store);
            }
            if (changesLimit) {
                AttemptLimits.change(db, TableLayout.module(subject.table()).withMaxAttempts(maxAttempts.number()));
            }
            io.out().println();
            io.print("Done: " + subject.table() + " in " + db + " is complete.");
            return ExitCode.OK;
        }

        private static String limitChange(Database db, Subject subject) throws SQLException {
            OptionalInt before;
            try (Connection connection = db.getConnection()) {
                before = Doctor.hasTable(connection, subject.table())
                        ? MaxAttempts.recorded(db, subject.kind(), subject.table())
                        : OptionalInt.empty();
            }
            String limit = "-- and events of " + subject.table() + " are dead after " + subject.maxAttempts()
                    + " attempts, written to outbox_attempt_limit";
            return before.isEmpty() || before.getAsInt() == subject.maxAttempts()
                    ? limit
                    : limit + "; until now " + before.getAsInt()
                            + ". Dead events stay dead and pending ones pending. Stop the relays of the table"
                            + " first, and start them with this limit.";
        }

        /** Refuses partitions for an existing table without them: a table cannot be partitioned later. */
        private static void requireRoomForPartitions(Database db, Subject subject) throws SQLException {
            try (Connection connection = db.getConnection()) {
                if (Doctor.hasTable(connection, subject.table())
                        && !Target.isPartitioned(db, db.product(), subject.table())) {
                    throw new SettingsException("Table " + subject.table() + " is there, without partitions. Rename it,"
                            + " apply again, and copy its rows; or leave out --partitioned.");
                }
            }
        }
    }
}
