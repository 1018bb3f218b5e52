package outbox.testing.internal;

import java.util.ArrayList;
import java.util.List;

/** Signals that the JDK cannot send. For KILL and TERM there is {@link ProcessHandle}. */
public enum Signal {
    INT,
    STOP,
    CONT;

    /** Sends the signal to each process. Returns whether all processes existed. */
    public boolean send(List<ProcessHandle> processes) {
        // the built-in kill of the shell, because small images have no kill program
        var command = new ArrayList<>(List.of("sh", "-c", "kill -s " + name() + " \"$@\"", "kill"));
        processes.forEach(process -> command.add(Long.toString(process.pid())));
        return processes.isEmpty()
                || Command.run(command.toArray(String[]::new)).succeeded();
    }
}
