package outbox.cli;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.concurrent.Callable;

/** A command that reads one table. It prints text or, for programs, JSON. */
abstract class ReadCommand implements Callable<Integer> {

    final Io io;

    @Mixin
    DatabaseOptions database = new DatabaseOptions();

    @Option(names = "--table", defaultValue = "outbox_event", description = "default ${DEFAULT-VALUE}")
    String table = "";

    @Option(names = "--json", description = "for programs")
    boolean json;

    ReadCommand(Io io) {
        this.io = io;
    }
}
