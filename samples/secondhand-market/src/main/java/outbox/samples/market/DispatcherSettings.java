package outbox.samples.market;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

import java.time.Duration;
import java.util.List;

/**
 * How the relay takes events from {@code outbox_events}; the defaults are those of sections 7.2 and 7.3.
 *
 * @param batchSize how many events it takes at a time
 * @param scanInterval how often it looks; a commit makes it look at once
 * @param retryDelays the waits after the first, the second … failure; one failure more and the event is FAILED
 */
@ConfigurationProperties("outbox.dispatcher")
record DispatcherSettings(
        @DefaultValue("200") int batchSize,
        @DefaultValue("5s") Duration scanInterval,
        @DefaultValue({"5s", "30s", "2m"}) List<Duration> retryDelays) {

    DispatcherSettings {
        if (retryDelays.isEmpty()) {
            throw new IllegalArgumentException("outbox.dispatcher.retry-delays needs at least one wait");
        }
        if (scanInterval.toMillis() < 200) {
            throw new IllegalArgumentException(
                    "outbox.dispatcher.scan-interval must be at least 200 ms: the lead is made sure of twice in it");
        }
    }

    /** With how many failures an event is FAILED. */
    int maxAttempts() {
        return retryDelays.size() + 1;
    }
}
