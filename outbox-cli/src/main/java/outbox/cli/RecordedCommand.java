package outbox.cli;

import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

import java.util.concurrent.Callable;

/** A command that changes one table and records the change in outbox_audit. */
abstract class RecordedCommand implements Callable<Integer> {

    final Io io;

    @Mixin
    DatabaseOptions database = new DatabaseOptions();

    @Mixin
    ChangeOptions change = new ChangeOptions();

    @Option(names = "--table", required = true, description = "the table; always named")
    String table = "";

    RecordedCommand(Io io) {
        this.io = io;
    }
}
