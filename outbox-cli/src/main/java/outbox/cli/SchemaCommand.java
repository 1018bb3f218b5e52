package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.cli.doctor.Doctor;
import outbox.cli.doctor.Finding;
import outbox.jdbc.AbstractJdbcEventStore;
import outbox.jdbc.JdbcEventStores;
import outbox.jdbc.OutboxSchema;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/** The tables: their DDL, whether they are complete, and their creation. */
@Command(
        name = "schema",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "(print | check | apply)",
        description = "Prints the DDL, checks what is there against it, or applies what is missing.")
final class SchemaCommand implements Runnable {

    @Spec
    private CommandSpec spec = CommandSpec.create(); // picocli puts the real one here

    static CommandLine commandLine(Io io) {
        return new CommandLine(new SchemaCommand())
                .addSubcommand(new Print(io))
                .addSubcommand(new Check(io))
                .addSubcommand(new Apply(io));
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Name what to do: print, check or apply.");
    }

    /** Which table, with what. */
    static final class TableOptions {

        @Option(names = "--table", defaultValue = "outbox_event", description = "default ${DEFAULT-VALUE}")
        private String table = "";

        @Option(
                names = "--with",
                split = ",",
                paramLabel = "FEATURE",
                description = "what the table must be able to do beyond the plain outbox: ${COMPLETION-CANDIDATES}")
        private Feature[] features = {};

        String table() {
            return table;
        }

        List<Feature> features() {
            return List.of(features);
        }

        String script(AbstractJdbcEventStore store) {
            List<String> statements = new ArrayList<>(OutboxSchema.statements(store));
            for (Feature feature : features) {
                statements.addAll(feature.statements(store));
            }
            return String.join(";\n\n", statements) + ";";
        }
    }

    @Command(name = "print", mixinStandardHelpOptions = true, description = "Prints the DDL; needs no connection.")
    static final class Print implements Callable<Integer> {

        private final Io io;

        @Mixin
        private DatabaseOptions database = new DatabaseOptions();

        @Mixin
        private TableOptions table = new TableOptions();

        @Option(
                names = "--store",
                paramLabel = "NAME",
                description = "h2, mysql or postgresql; default: as the URL says")
        private @Nullable String store;

        Print(Io io) {
            this.io = io;
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
            io.out().println(table.script(Database.store(name, table.table())));
            return ExitCode.OK;
        }
    }

    @Command(name = "check", mixinStandardHelpOptions = true, description = "Tells what is missing; changes nothing.")
    static final class Check implements Callable<Integer> {

        private final Io io;

        @Mixin
        private DatabaseOptions database = new DatabaseOptions();

        @Mixin
        private TableOptions table = new TableOptions();

        @Option(names = "--json", description = "for programs")
        private boolean json;

        Check(Io io) {
            this.io = io;
        }

        @Override
        public Integer call() throws Exception {
            Database db = database.database(io);
            AbstractJdbcEventStore store = db.store(table.table());
            try (Connection connection = db.getConnection()) {
                List<Finding> findings = Doctor.checkSchema(
                        connection,
                        store,
                        table.features().stream().map(Feature::column).toList());
                DoctorCommand.print(io, json, table.table(), findings, List.of());
                return findings.isEmpty() ? ExitCode.OK : ExitCode.PROBLEM;
            }
        }
    }

    @Command(
            name = "apply",
            mixinStandardHelpOptions = true,
            description = "Creates what is missing, after showing the DDL and asking.")
    static final class Apply implements Callable<Integer> {

        private final Io io;

        @Mixin
        private DatabaseOptions database = new DatabaseOptions();

        @Mixin
        private TableOptions table = new TableOptions();

        @Option(names = "--yes", description = "do it without asking")
        private boolean yes;

        Apply(Io io) {
            this.io = io;
        }

        @Override
        public Integer call() {
            Database db = database.database(io);
            AbstractJdbcEventStore store = db.store(table.table());
            io.out().println(table.script(store));
            if (!yes && !asked()) {
                io.err().println("Nothing was changed. Confirm it on a terminal, or by --yes.");
                return ExitCode.NOT_CONFIRMED;
            }
            OutboxSchema.create(db, store);
            table.features().forEach(feature -> feature.create(db, store));
            io.out().println();
            io.out().println("Done: " + table.table() + " in " + db + " is complete.");
            return ExitCode.OK;
        }

        private boolean asked() {
            return io.terminal()
                    .ask("Create what is missing of it? Type yes to go on: ")
                    .filter(answer -> answer.strip().equalsIgnoreCase("yes"))
                    .isPresent();
        }
    }
}
