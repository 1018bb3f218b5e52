package outbox.cli.doctor;

import java.util.List;

/**
 * Something that is wrong.
 *
 * @param check which check found it
 * @param problem what is wrong, with the names and numbers that were seen
 * @param fix what to do about it
 * @param commands what to run for it, as it stands: lines for a shell that begin with {@code outbox}, and statements
 * of SQL
 */
public record Finding(String check, String problem, String fix, List<String> commands) {

    public Finding {
        commands = List.copyOf(commands);
    }
}
