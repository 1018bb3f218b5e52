package outbox.cli.doctor;

import java.util.List;

/**
 * A problem that a check found.
 *
 * @param check the name of the check
 * @param problem what is wrong, with the observed names and numbers
 * @param fix how to repair it
 * @param commands the commands that repair it, ready to run: shell lines that begin with {@code outbox}, and SQL
 *     statements
 */
public record Finding(String check, String problem, String fix, List<String> commands) {

    public Finding {
        commands = List.copyOf(commands);
    }
}
