package outbox.cli;

import outbox.admin.EventDetails;
import outbox.admin.EventDetails.Attempt;
import outbox.internal.text.PrintableText;
import outbox.model.OutboxEvent;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Optional;

/** Shows one event. Its payload and headers may be confidential, so they are shown only on request. */
@Command(
        name = "show",
        mixinStandardHelpOptions = true,
        description = "Shows everything about one event; its payload and headers only if asked for.")
final class ShowCommand extends ReadCommand {

    @Parameters(index = "0", paramLabel = "EVENT", description = "id of the event")
    private String eventId = "";

    @Option(names = "--payload", description = "with payload and headers")
    private boolean payload;

    ShowCommand(Io io) {
        super(io);
    }

    @Override
    public Integer call() throws Exception {
        Optional<EventDetails> found = database.target(io, table).admin().find(eventId);
        if (found.isEmpty()) {
            io.warn("There is no event " + PrintableText.of(eventId) + " in " + table + ".");
            return ExitCode.PROBLEM;
        }
        Answer answer = answer(found.get());
        if (json) {
            io.print(answer);
        } else {
            answer.map().forEach((name, value) -> {
                if (value != null && !name.equals("history")) {
                    io.print(PrintableText.of(String.format("%-14s %s", name, value)));
                }
            });
            print(found.get());
        }
        return ExitCode.OK;
    }

    private Answer answer(EventDetails details) {
        OutboxEvent event = details.event();
        byte[] bytes = event.payloadBytes();
        Answer answer = Events.answer(details.summary())
                .with("lastError", details.lastError())
                .with("occurredAt", event.occurredAt())
                .with(
                        "payloadBytes",
                        bytes != null ? bytes.length : event.payloadJson().getBytes(StandardCharsets.UTF_8).length)
                .with(
                        "history",
                        details.history().stream().map(ShowCommand::answer).toList());
        if (payload) {
            answer.with("headers", event.headersJson());
            answer.with(
                    bytes != null ? "payloadBase64" : "payload",
                    bytes != null ? Base64.getEncoder().encodeToString(bytes) : event.payloadJson());
        }
        return answer;
    }

    private static Answer answer(Attempt attempt) {
        return new Answer()
                .with("number", attempt.number())
                .with("startedAt", attempt.startedAt())
                .with("tookMillis", attempt.took().toMillis())
                .with("node", attempt.node())
                .with("error", attempt.error());
    }

    private void print(EventDetails details) {
        if (details.history().isEmpty()) {
            return;
        }
        TextTable rows = new TextTable("ATTEMPT", "STARTED", "TOOK", "NODE", "ERROR");
        details.history()
                .forEach(attempt -> rows.add(
                        attempt.number(),
                        attempt.startedAt(),
                        attempt.took().toMillis() + "ms",
                        attempt.node(),
                        attempt.error() == null ? "delivered" : attempt.error()));
        io.out().println();
        rows.print(io.out());
    }
}
