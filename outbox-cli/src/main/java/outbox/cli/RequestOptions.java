package outbox.cli;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

import java.util.Optional;

/** Who requests a change, and why, for the audit record. */
class RequestOptions {

    @Option(
            names = "--reason",
            required = true,
            paramLabel = "TEXT",
            description = "why; it is kept in the audit record")
    private String reason = "";

    @Option(names = "--actor", paramLabel = "NAME", description = "who; default: the user of this process")
    private String actor = System.getProperty("user.name", "unknown");

    @Option(
            names = "--request-id",
            paramLabel = "ID",
            description = "makes a repetition harmless: asked again with its id, a request changes nothing")
    private @Nullable String requestId;

    final String reason() {
        return reason;
    }

    final String actor() {
        return actor;
    }

    final Optional<String> requestId() {
        return Optional.ofNullable(requestId);
    }
}
