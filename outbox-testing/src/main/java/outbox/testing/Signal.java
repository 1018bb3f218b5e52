package outbox.testing;

import java.util.ArrayList;
import java.util.List;

/** The signals that the JDK cannot send by itself; for KILL and TERM it has {@link ProcessHandle}. */
enum Signal {
    INT,
    STOP,
    CONT;

    /** Sends the signal to each process and answers whether all of them were there to take it. */
    boolean send(List<ProcessHandle> processes) {
        // The shell's own kill: the program of that name is missing from small images.
        var command = new ArrayList<>(List.of("sh", "-c", "kill -s " + name() + " \"$@\"", "kill"));
        processes.forEach(process -> command.add(Long.toString(process.pid())));
        return processes.isEmpty()
                || Command.run(command.toArray(String[]::new)).succeeded();
    }
}
