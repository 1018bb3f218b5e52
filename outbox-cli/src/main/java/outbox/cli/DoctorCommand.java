package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.cli.doctor.Doctor;
import outbox.cli.doctor.Finding;
import outbox.cli.doctor.Limits;
import outbox.cli.doctor.Report;
import outbox.cli.doctor.Subject;
import outbox.cli.doctor.TableKind;
import outbox.internal.text.PrintableText;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.sql.Connection;
import java.util.List;
import java.util.Set;

/** Looks for problems that break an outbox without an error. */
@Command(
        name = "doctor",
        mixinStandardHelpOptions = true,
        description = {
            "Finds what silently breaks an outbox, and tells what to do about it. Reads only.",
            "Says nothing on standard output if all is well."
        })
final class DoctorCommand extends ReadCommand {

    @Option(
            names = "--types",
            split = ",",
            paramLabel = "TYPE",
            description = "event types that have a listener or route; others that are pending are a problem")
    private @Nullable Set<String> types;

    @Option(
            names = "--expect",
            split = ",",
            paramLabel = "FEATURE",
            description = "what the application uses beyond the plain outbox: ${COMPLETION-CANDIDATES}")
    private Feature[] expected = {};

    @Option(names = "--lease", defaultValue = "5m", description = "lease of the relays; default ${DEFAULT-VALUE}")
    private String lease = "";

    @Option(
            names = "--stalled",
            defaultValue = "1m",
            description = "how long an event may be due untouched; default ${DEFAULT-VALUE}")
    private String stalled = "";

    @Option(
            names = "--long-transaction",
            defaultValue = "5m",
            description = "how long a transaction may be open; default ${DEFAULT-VALUE}")
    private String longTransaction = "";

    @Option(names = "--skew", defaultValue = "1s", description = "how far clocks may differ; default ${DEFAULT-VALUE}")
    private String skew = "";

    @Option(
            names = "--without",
            split = ",",
            paramLabel = "CHECK",
            description = "checks to leave out, because what they find is meant to be so")
    private Set<String> without = Set.of();

    DoctorCommand(Io io) {
        super(io);
    }

    @Override
    public Integer call() throws Exception {
        requireKnown();
        Database db = database.database(io);
        Limits limits = new Limits(
                Durations.parse("--lease", lease),
                Durations.parse("--stalled", stalled),
                Durations.parse("--skew", skew),
                Durations.parse("--long-transaction", longTransaction),
                types,
                Feature.columns(List.of(expected), db.product()),
                without);
        try (Connection connection = db.getConnection()) {
            String name = db.table(table);
            TableKind kind = Doctor.kindOf(connection, db.product(), name);
            Subject subject =
                    Target.subject(db, name, kind, database.maxAttempts(io).of(db, kind, name));
            Report report = new Doctor(limits, io.clock(), database.repeated()).examine(connection, subject);
            print(io, json, table, report);
            if (report.findings().isEmpty()) {
                io.warn("No problem found in " + table + " by "
                        + (Doctor.checks().size() - without.size()) + " checks.");
            }
            if (database.hidesUrl()
                    && report.findings().stream()
                            .flatMap(f -> f.commands().stream())
                            .anyMatch(DoctorCommand::isCall)) {
                io.warn("The commands need the URL, which is not repeated here because it has parameters: set"
                        + " OUTBOX_JDBC_URL.");
            }
            return report.findings().isEmpty() ? ExitCode.OK : ExitCode.PROBLEM;
        }
    }

    /** Whether a printed command is for a shell; otherwise it is SQL. */
    private static boolean isCall(String command) {
        return command.startsWith("outbox ");
    }

    private void requireKnown() {
        List<String> known = Doctor.checks();
        without.stream().filter(name -> !known.contains(name)).findFirst().ifPresent(name -> {
            throw new SettingsException("--without: there is no check " + PrintableText.of(name) + ". Name one of "
                    + String.join(", ", known) + ".");
        });
    }

    static void print(Io io, boolean json, String table, Report report) {
        if (json) {
            io.print(new Answer()
                    .with("table", table)
                    .with(
                            "findings",
                            report.findings().stream()
                                    .map(finding -> new Answer()
                                            .with("check", finding.check())
                                            .with("problem", finding.problem())
                                            .with("fix", finding.fix())
                                            .with("commands", finding.commands()))
                                    .toList())
                    .with("notes", report.notes())
                    .with("notChecked", report.notChecked()));
            return;
        }
        for (Finding finding : report.findings()) {
            io.print(PrintableText.of(finding.check() + ": " + finding.problem()));
            io.print(PrintableText.of("    fix: " + finding.fix()));
            finding.commands().forEach(command -> io.print(PrintableText.of("    run: " + command)));
        }
        report.notes().forEach(line -> io.warn(PrintableText.of("note: " + line)));
        report.notChecked().forEach(line -> io.warn(PrintableText.of("not checked: " + line)));
    }
}
