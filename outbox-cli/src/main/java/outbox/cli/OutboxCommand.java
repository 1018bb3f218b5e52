package outbox.cli;

import outbox.OutboxException;
import outbox.internal.text.PrintableText;
import picocli.AutoComplete.GenerateCompletion;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.sql.SQLException;
import java.util.logging.Level;

/** The command without a subcommand: shows the list of subcommands. */
@Command(
        name = "outbox",
        mixinStandardHelpOptions = true,
        versionProvider = OutboxCommand.Version.class,
        synopsisSubcommandLabel = "COMMAND",
        description =
                "Looks after outbox tables: shows them, replays and purges events, relays them, finds what is wrong.",
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:done, or nothing wrong was found",
            "1:problems were found, or what was asked for is not there",
            "2:arguments or settings are wrong; nothing was done",
            "3:the change was not confirmed; nothing was changed",
            "4:the database or broker could not be reached, or it or standard output failed on the way"
        })
final class OutboxCommand implements Runnable {

    @Spec
    private CommandSpec spec = CommandSpec.create(); // replaced by picocli

    static CommandLine commandLine(Io io) {
        CommandLine line = new CommandLine(new OutboxCommand())
                .addSubcommand(new StatusCommand(io))
                .addSubcommand(new ListCommand(io))
                .addSubcommand(new ShowCommand(io))
                .addSubcommand(new NodesCommand(io))
                .addSubcommand(new BlockedCommand(io))
                .addSubcommand(ErrorsCommand.commandLine(io))
                .addSubcommand(new AuditCommand(io))
                .addSubcommand(new ReplayCommand(io))
                .addSubcommand(new DiscardCommand(io))
                .addSubcommand(new SkipCommand(io))
                .addSubcommand(new RunNowCommand(io))
                .addSubcommand(new PauseCommand.Pause(io))
                .addSubcommand(new PauseCommand.Resume(io))
                .addSubcommand(new ReleaseCommand(io))
                .addSubcommand(new PurgeCommand(io))
                .addSubcommand(DlqCommand.commandLine(io))
                .addSubcommand(ReconcileCommand.commandLine(io))
                .addSubcommand(SchemaCommand.commandLine(io))
                .addSubcommand(new DoctorCommand(io))
                .addSubcommand(RelayCommand.commandLine(io))
                .addSubcommand(new GenerateCompletion());
        line.setOut(io.out());
        line.setErr(io.err());
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setParameterExceptionHandler((e, args) -> refuse(io, e));
        line.setExecutionExceptionHandler((e, command, result) -> fail(io, e));
        return line;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "Name a command.");
    }

    private static int refuse(Io io, ParameterException e) {
        CommandLine command = e.getCommandLine();
        Logging.say(io, Level.SEVERE, PrintableText.of(String.valueOf(e.getMessage())));
        Logging.say(io, Level.INFO, "See: " + command.getCommandSpec().qualifiedName() + " --help");
        return ExitCode.USAGE;
    }

    /**
     * Prints the failure and returns its exit code. If the library refuses an argument, its message names the
     * argument and the problem.
     */
    private static int fail(Io io, Exception e) {
        String message = e.getMessage() == null ? e.toString() : e.getMessage();
        Logging.say(io, Level.SEVERE, e instanceof SettingsException ? message : PrintableText.of(message));
        if (e instanceof SettingsException || e instanceof IllegalArgumentException) {
            return ExitCode.USAGE;
        }
        if (!(e instanceof OutboxException || e instanceof SQLException)) {
            Logging.say(io, Level.SEVERE, PrintableText.of("This is a fault of the command: " + e));
        }
        return ExitCode.FAILED;
    }

    /** The version from the manifest of the archive. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() {
            String version = OutboxCommand.class.getPackage().getImplementationVersion();
            return new String[] {"outbox " + (version == null ? "(not packaged)" : version)};
        }
    }
}
