package outbox.samples.market;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

import java.time.Duration;
import java.util.List;

/**
 * Settings of the relay of {@code outbox_events}. The defaults are those of sections 7.2 and 7.3.
 *
 * @param batchSize how many events it claims at a time
 * @param scanInterval how often it polls; a commit triggers a poll immediately
 * @param retryDelays the delays after the first, the second … failure; after one more failure the event is FAILED
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

    /** Returns the number of failures after which an event is FAILED. */
    int maxAttempts() {
        return retryDelays.size() + 1;
    }
}
