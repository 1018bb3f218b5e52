package outbox.dispatch;

import org.jspecify.annotations.Nullable;
import outbox.EventEnvelope;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.internal.text.SafeLogger;
import outbox.registry.ListenerRegistry;
import outbox.spi.ErrorText;
import outbox.spi.Mark;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.function.BiFunction;

/** Decides the outcome of a run: DONE, RETRY after a delay, or DEAD. */
final class OutcomePolicy {

    private static final Logger LOG = SafeLogger.of(OutcomePolicy.class);
    private static final Duration LONGEST_DELAY = Duration.ofDays(365);

    private final RetryPolicy retryPolicy;
    private final int maxAttempts;
    private final RetryRules rules;
    private final ListenerRegistry registry;
    private final BiFunction<EventEnvelope, Throwable, String> errorText;

    OutcomePolicy(RetryPolicy retryPolicy, int maxAttempts, RetryRules rules, ListenerRegistry registry) {
        this(retryPolicy, maxAttempts, rules, registry, ErrorText::of);
    }

    OutcomePolicy(
            RetryPolicy retryPolicy,
            int maxAttempts,
            RetryRules rules,
            ListenerRegistry registry,
            BiFunction<EventEnvelope, Throwable, String> errorText) {
        this.retryPolicy = retryPolicy;
        this.maxAttempts = maxAttempts;
        this.rules = rules;
        this.registry = registry;
        this.errorText = errorText;
    }

    /**
     * Returns the outcome of a run.
     *
     * @param uncountedWait the wait before a retry that costs no attempt, if the destination caused the
     *     failure; otherwise null
     */
    Mark outcome(Delivery delivery, @Nullable Throwable failure, @Nullable Duration uncountedWait) {
        String eventId = delivery.eventId();
        String token = delivery.token();
        if (failure == null) {
            return Mark.done(eventId, token);
        }
        String error = errorOf(delivery, failure);
        if (failure instanceof UnroutableEventException) {
            return Mark.dead(eventId, token, false, error);
        }
        boolean counts = !delivery.isRunRecorded();
        RetryLaterException word = failure instanceof RetryLaterException later ? later : null;
        if (failure instanceof GiveUpException || word == null && rules.forbidRetry(failure)) {
            return Mark.dead(eventId, token, counts, error);
        }
        if (word != null && !word.isCounted()) {
            return Mark.retry(eventId, token, false, uncounted(word.delay()), error);
        }
        if (uncountedWait != null) {
            return Mark.retry(eventId, token, false, uncounted(uncountedWait), error);
        }
        if (delivery.attempt() >= maxAttempts(delivery, failure)) {
            return Mark.dead(eventId, token, counts, error);
        }
        Duration delay = word == null ? delayAfter(delivery, failure) : bounded(word.delay());
        return Mark.retry(eventId, token, counts, delay, error);
    }

    private String errorOf(Delivery delivery, Throwable failure) {
        try {
            return ErrorText.clean(errorText.apply(delivery.envelope(), failure));
        } catch (Throwable e) { // also an Error: the listener has run, and its attempt must count
            LOG.log(Level.ERROR, "The error of event " + delivery.eventId() + " could not be described", e);
            return failure.getClass().getName();
        }
    }

    /** Whether all attempts are used up by recorded runs during which the process ended. */
    boolean isExhausted(Delivery delivery) {
        return delivery.attempts() >= maxAttempts(delivery, null);
    }

    /**
     * Whether a crash during the next run of this suspect may cost more than its first attempt. Then the suspect
     * must run alone, so that no other event can have caused the crash.
     */
    boolean mustRunAlone(Delivery delivery) {
        int most = maxAttempts(delivery, null);
        int attempts = delivery.attempts();
        return attempts < most && (attempts > 0 || most == 1);
    }

    Mark exhausted(Delivery delivery) {
        return Mark.dead(
                delivery.eventId(),
                delivery.token(),
                false,
                "The process ended, or lost its lease, during " + delivery.attempts()
                        + " recorded runs of this event's listener. Find out what the listener does to the "
                        + "process, then replay the event.");
    }

    private int maxAttempts(Delivery delivery, @Nullable Throwable failure) {
        Integer most = rules.maxAttempts(
                failure, listenerOf(delivery), delivery.envelope().eventType());
        return most == null ? maxAttempts : most;
    }

    private @Nullable String listenerOf(Delivery delivery) {
        return rules.needListenerName() ? Route.of(delivery, registry).name() : null;
    }

    private Duration delayAfter(Delivery delivery, Throwable failure) {
        try {
            RetryPolicy rule = rules.policy(
                    failure, listenerOf(delivery), delivery.envelope().eventType());
            long millis = (rule == null ? retryPolicy : rule).computeDelayMs(delivery.attempt());
            return Duration.ofMillis(Math.max(0, Math.min(millis, LONGEST_DELAY.toMillis())));
        } catch (Throwable e) { // also an Error: the listener has run, and its attempt must count
            LOG.log(Level.ERROR, "The retry policy failed for event " + delivery.eventId() + "; it waits a minute", e);
            return Duration.ofMinutes(1);
        }
    }

    /** Enforces a minimum delay, because an uncounted retry without a delay would loop. */
    private static Duration uncounted(Duration delay) {
        Duration shortest = RetryLaterException.SHORTEST_UNCOUNTED;
        return delay.compareTo(shortest) < 0 ? shortest : bounded(delay);
    }

    private static Duration bounded(Duration delay) {
        return delay.compareTo(LONGEST_DELAY) > 0 ? LONGEST_DELAY : delay;
    }
}
