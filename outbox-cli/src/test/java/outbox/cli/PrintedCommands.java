package outbox.cli;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Runs the commands that the doctor prints, unchanged: bash and the parser of the command read the calls, the
 * database runs the SQL.
 */
final class PrintedCommands {

    private static final String RUN = "    run: ";

    private PrintedCommands() {}

    static List<String> of(Run doctor) {
        return doctor.out()
                .lines()
                .filter(line -> line.startsWith(RUN))
                .map(line -> line.substring(RUN.length()))
                .toList();
    }

    /**
     * Runs all SQL except statements that end a session, and parses the calls. Returns whether all commands were SQL.
     */
    static boolean run(Shop shop, Run doctor) throws Exception {
        boolean isAllSql = true;
        for (String command : of(doctor)) {
            if (command.startsWith("outbox ")) {
                isAllSql = false;
                OutboxCommand.commandLine(Io.system()).parseArgs(words(command).toArray(String[]::new));
            } else {
                assertThat(command).endsWith(";");
                if (!command.matches(".*(pg_terminate_backend|KILL|ALTER SYSTEM|pg_reload_conf).*")) {
                    shop.execute(command);
                }
            }
        }
        return isAllSql;
    }

    /** The arguments that bash passes to a program. */
    static List<String> words(String command) throws IOException, InterruptedException {
        assertThat(command).startsWith("outbox ");
        String script = "outbox() { printf '%s\\0' \"$@\"; }; " + command;
        Process bash = new ProcessBuilder("bash", "-c", script)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String out = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(bash.waitFor()).as(command).isZero();
        return Arrays.asList(out.substring(0, out.length() - 1).split("\0", -1));
    }
}
