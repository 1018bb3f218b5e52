package outbox.cli;

import picocli.CommandLine.Parameters;

import java.util.List;

/** Changes the events that are named by id, or those that match a filter. */
abstract class EventsCommand extends ChangeCommand {

    @Parameters(arity = "0..*", paramLabel = "EVENT", description = "ids of events; or a filter")
    private List<String> eventIds = List.of();

    EventsCommand(Io io, String verb) {
        super(io, verb);
    }

    @Override
    final List<String> eventIds() {
        return eventIds;
    }
}
