package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;
import outbox.OutboxException;
import outbox.rabbitmq.DeadLetter;
import outbox.rabbitmq.DeadLetterFilter;
import outbox.rabbitmq.DeadLetterReplay;
import outbox.rabbitmq.DeadLetters;

import java.util.List;

/** Dead letters over HTTP. */
@RestController
@RequestMapping("/api/dlq")
class DlqController {

    private static final int SHOWN = 100;

    private final DeadLetters deadLetters;

    DlqController(DeadLetters deadLetters) {
        this.deadLetters = deadLetters;
    }

    @GetMapping
    List<DeadLetter> list() {
        return deadLetters.list(DeadLetterFilter.all(), SHOWN);
    }

    @PostMapping("/replay")
    DeadLetterReplay replay(@RequestBody(required = false) @Nullable Replay wish) {
        Replay asked = wish == null ? new Replay(null, null) : wish;
        return deadLetters.replay(asked.filter(), asked.cap(), "market-api", "asked for over HTTP");
    }

    /** The broker is unavailable. */
    @ExceptionHandler
    ProblemDetail unavailable(OutboxException e) {
        return ApiErrors.problem(
                HttpStatus.SERVICE_UNAVAILABLE, "unavailable", "Not available now", String.valueOf(e.getMessage()));
    }

    /** A replay request: one event or all, and the maximum number. */
    record Replay(@Nullable String eventId, @Nullable Integer limit) {

        private static final int MOST = 1000;

        Replay {
            if (limit != null && (limit < 1 || limit > MOST)) {
                throw new InvalidRequestException("a limit of 1 to " + MOST + " is needed");
            }
        }

        DeadLetterFilter filter() {
            return eventId == null
                    ? DeadLetterFilter.all()
                    : DeadLetterFilter.builder().eventIds(List.of(eventId)).build();
        }

        int cap() {
            return limit == null ? SHOWN : limit;
        }
    }
}
