package outbox.cli;

import org.jspecify.annotations.Nullable;
import outbox.internal.text.PrintableText;
import outbox.rabbitmq.DeadLetter;
import outbox.rabbitmq.DeadLetterDetails;
import outbox.rabbitmq.DeadLetterFilter;
import outbox.rabbitmq.DeadLetterReplay;
import outbox.rabbitmq.DeadLetters;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;

/** The dead letters of a broker. */
@Command(
        name = "dlq",
        mixinStandardHelpOptions = true,
        synopsisSubcommandLabel = "(list | show | replay)",
        description =
                "Lists the messages of a dead-letter queue of RabbitMQ, shows one, or takes them back to their queues.")
final class DlqCommand {

    static CommandLine commandLine(Io io) {
        return new CommandLine(new DlqCommand())
                .addSubcommand(new ListLetters(io))
                .addSubcommand(new ShowLetter(io))
                .addSubcommand(new ReplayLetters(io));
    }

    private static Answer answer(DeadLetter letter) {
        return new Answer()
                .with("eventId", letter.eventId())
                .with("eventType", letter.eventType())
                .with("queue", letter.queue())
                .with("consumer", letter.consumer())
                .with("failedAt", letter.failedAt())
                .with("redeliveries", letter.redeliveries())
                .with("replays", letter.replays())
                .with("bytes", letter.size())
                .with("reason", letter.reason());
    }

    private static void print(Io io, List<DeadLetter> letters) {
        TextTable rows = new TextTable("EVENT", "TYPE", "QUEUE", "FAILED", "REPLAYS", "REASON");
        letters.forEach(letter -> rows.add(
                letter.eventId(),
                letter.eventType(),
                letter.queue(),
                letter.failedAt(),
                letter.replays(),
                letter.reason()));
        rows.print(io.out());
    }

    /** Selects dead letters. */
    static final class LetterOptions {

        @Option(names = "--type", paramLabel = "TYPE", description = "events of this type")
        private @Nullable String type;

        @Option(names = "--from-queue", paramLabel = "NAME", description = "messages that came from this queue")
        private @Nullable String fromQueue;

        @Option(names = "--error", paramLabel = "TEXT", description = "messages whose reason contains this text")
        private @Nullable String error;

        DeadLetterFilter.Builder filter() {
            DeadLetterFilter.Builder filter = DeadLetterFilter.builder();
            Optional.ofNullable(type).ifPresent(filter::eventType);
            Optional.ofNullable(fromQueue).ifPresent(filter::queue);
            Optional.ofNullable(error).ifPresent(filter::reason);
            return filter;
        }

        boolean isNarrow() {
            return type != null || fromQueue != null || error != null;
        }
    }

    @Command(
            name = "list",
            mixinStandardHelpOptions = true,
            description = "Lists dead letters, the oldest first. Nobody else can have them for that moment.")
    static final class ListLetters implements Callable<Integer> {

        private final Io io;

        @Mixin
        private BrokerOptions broker = new BrokerOptions();

        @Mixin
        private LetterOptions letters = new LetterOptions();

        @Option(
                names = "--limit",
                paramLabel = "N",
                defaultValue = "50",
                description = "how many at most; default ${DEFAULT-VALUE}")
        private int limit;

        @Option(names = "--json", description = "for programs")
        private boolean json;

        ListLetters(Io io) {
            this.io = io;
        }

        @Override
        public Integer call() {
            List<DeadLetter> found =
                    broker.deadLetters(io).list(letters.filter().build(), limit);
            if (json) {
                io.print(new Answer()
                        .with("queue", broker.queue())
                        .with("messages", found.stream().map(DlqCommand::answer).toList()));
            } else {
                print(io, found);
            }
            return ExitCode.OK;
        }
    }

    @Command(
            name = "show",
            mixinStandardHelpOptions = true,
            description = "Shows everything about one dead letter; its body and headers only if asked for.")
    static final class ShowLetter implements Callable<Integer> {

        private final Io io;

        @Mixin
        private BrokerOptions broker = new BrokerOptions();

        @Parameters(index = "0", paramLabel = "EVENT", description = "id of the event")
        private String eventId = "";

        @Option(names = "--payload", description = "with body and headers")
        private boolean payload;

        @Option(names = "--json", description = "for programs")
        private boolean json;

        ShowLetter(Io io) {
            this.io = io;
        }

        @Override
        public Integer call() {
            Optional<DeadLetterDetails> found = broker.deadLetters(io).find(eventId);
            if (found.isEmpty()) {
                io.warn("There is no message of event " + PrintableText.of(eventId) + " in queue " + broker.queue()
                        + ".");
                return ExitCode.PROBLEM;
            }
            Answer answer = answer(found.get().letter());
            if (payload) {
                answer.with("headers", new TreeMap<>(found.get().headers()));
                answer.with("body", found.get().body());
            }
            if (json) {
                io.print(answer);
            } else {
                answer.map().forEach((name, value) -> {
                    if (value != null) {
                        io.print(PrintableText.of(String.format("%-14s %s", name, value)));
                    }
                });
            }
            return ExitCode.OK;
        }
    }

    @Command(
            name = "replay",
            mixinStandardHelpOptions = true,
            description = {
                "Takes dead letters back to the queues that they came from.",
                "Each leaves the dead-letter queue after the broker has confirmed it there. Consumers must be"
                        + " idempotent by event id."
            })
    static final class ReplayLetters implements Callable<Integer> {

        private final Io io;

        @Mixin
        private BrokerOptions broker = new BrokerOptions();

        @Mixin
        private LetterOptions letters = new LetterOptions();

        @Option(
                names = "--cap",
                paramLabel = "N",
                description = "how many messages at most; needed with a filter alone")
        private @Nullable Integer cap;

        @Option(names = "--reason", required = true, paramLabel = "TEXT", description = "why; the messages tell it")
        private String reason = "";

        @Option(names = "--actor", paramLabel = "NAME", description = "who; default: the user of this process")
        private String actor = System.getProperty("user.name", "unknown");

        @Option(names = "--yes", description = "do it without asking")
        private boolean yes;

        @Option(names = "--dry-run", description = "only show what would be done")
        private boolean dryRun;

        @Option(names = "--json", description = "for programs; needs --yes or --dry-run")
        private boolean json;

        @Parameters(arity = "0..*", paramLabel = "EVENT", description = "ids of events; or a filter")
        private List<String> eventIds = List.of();

        ReplayLetters(Io io) {
            this.io = io;
        }

        @Override
        public Integer call() {
            DeadLetterFilter filter = filter();
            int most = cap == null ? DeadLetters.MAX_LOOK : cap; // an event may have several messages
            DeadLetters queue = broker.deadLetters(io);
            List<DeadLetter> meant = queue.list(filter, most);
            List<String> missing = meant.size() < most ? missing(meant) : List.of();
            if (!json) {
                print(io, meant);
                io.out().println();
                io.print(PrintableText.of("Messages: " + meant.size() + ", back to " + targets(meant)));
            }
            missing.forEach(id -> io.warn(PrintableText.of("There is no message of event " + id + " that is meant.")));
            if (dryRun || meant.isEmpty()) {
                return notDone(meant, missing.isEmpty() ? ExitCode.OK : ExitCode.PROBLEM);
            }
            if (!yes && (json || !asked(meant.size()))) {
                io.warn("Nothing was changed. Confirm it on a terminal, or by --yes.");
                return notDone(meant, ExitCode.NOT_CONFIRMED);
            }
            DeadLetterReplay done = queue.replay(filter, most, actor, reason);
            report(meant, done);
            return done.complete() && missing.isEmpty() ? ExitCode.OK : ExitCode.PROBLEM;
        }

        private List<String> missing(List<DeadLetter> meant) {
            Set<@Nullable String> found =
                    meant.stream().map(DeadLetter::eventId).collect(Collectors.toCollection(HashSet::new));
            return eventIds.stream()
                    .distinct()
                    .filter(id -> !found.contains(id))
                    .toList();
        }

        private DeadLetterFilter filter() {
            DeadLetterFilter.Builder filter = letters.filter();
            if (!eventIds.isEmpty()) {
                return filter.eventIds(eventIds).build();
            }
            if (!letters.isNarrow()) {
                throw new SettingsException("Name the events, or give a filter: --type, --from-queue or --error.");
            }
            if (cap == null) {
                throw new SettingsException("A filter needs --cap N: how many messages are replayed at most.");
            }
            return filter.build();
        }

        private static String targets(List<DeadLetter> meant) {
            return meant.stream()
                    .map(letter -> letter.queue() == null ? "(not told)" : letter.queue())
                    .distinct()
                    .sorted()
                    .collect(Collectors.joining(", "));
        }

        private boolean asked(int count) {
            String question =
                    "Replay " + count + (count == 1 ? " message of " : " messages of ") + broker.queue() + "?";
            return io.confirms(question);
        }

        private int notDone(List<DeadLetter> meant, int code) {
            if (json) {
                io.print(plan(meant, false));
            }
            if (meant.isEmpty()) {
                io.warn("Nothing to do: no such message is there.");
            }
            return code;
        }

        private Answer plan(List<DeadLetter> meant, boolean done) {
            return new Answer()
                    .with("action", "REPLAY")
                    .with("queue", broker.queue())
                    .with("messages", meant.size())
                    .with("events", meant.stream().map(DeadLetter::eventId).toList())
                    .with("done", done);
        }

        private void report(List<DeadLetter> meant, DeadLetterReplay done) {
            if (json) {
                io.print(plan(meant, true)
                        .with("replayed", done.replayed())
                        .with("complete", done.complete())
                        .with("failures", done.failures()));
            } else {
                io.print("Done: " + done.replayed() + " messages.");
                done.failures().forEach(failure -> io.warn(PrintableText.of(failure)));
            }
        }
    }
}
