package outbox.samples.market;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.scheduling.annotation.SchedulingConfigurer;
import org.springframework.scheduling.config.FixedDelayTask;
import org.springframework.scheduling.config.ScheduledTaskRegistrar;
import org.springframework.stereotype.Component;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.TimeoutException;

/**
 * Reads the number of waiting messages in each queue every few seconds. Each queue has a gauge. An alarm is logged
 * when a queue is too long or a dead-letter queue is not empty. While the broker is unavailable, the gauges are NaN.
 */
@Component
class QueueDepths implements SchedulingConfigurer {

    private static final Logger LOG = LoggerFactory.getLogger(QueueDepths.class);
    private static final long MOST_WAITING = 1000;

    private final ConnectionFactory broker;
    private final Duration interval;
    private volatile Map<String, Long> latest = Map.of(); // written by the scheduler thread, read by any thread

    QueueDepths(ConnectionFactory broker, ConsumerSettings settings, MeterRegistry registry) {
        this.broker = broker;
        this.interval = settings.sampleInterval();
        for (String queue : MarketTopology.QUEUES) {
            Gauge.builder("market.queue.messages", this, depths -> depths.of(queue))
                    .description("Messages that wait in a queue")
                    .tag("queue", queue)
                    .register(registry);
        }
    }

    Map<String, Long> latest() {
        return latest;
    }

    private double of(String queue) {
        Long depth = latest.get(queue);
        return depth == null ? Double.NaN : depth;
    }

    @Override
    public void configureTasks(ScheduledTaskRegistrar tasks) {
        tasks.addFixedDelayTask(new FixedDelayTask(this::sample, interval, Duration.ZERO));
    }

    private void sample() {
        Map<String, Long> before = latest;
        try (Connection connection = broker.newConnection("market-queue-depths");
                Channel channel = connection.createChannel()) {
            Map<String, Long> now = new LinkedHashMap<>();
            for (String queue : MarketTopology.QUEUES) {
                now.put(queue, channel.messageCount(queue));
            }
            latest = now;
            now.forEach((queue, depth) -> alarm(queue, before.getOrDefault(queue, 0L), depth));
        } catch (IOException | TimeoutException | RuntimeException e) {
            latest = Map.of();
            LOG.debug("The depth of the queues is not known", e);
        }
    }

    /** Logs once each time a limit is exceeded, and not with every sample. */
    private static void alarm(String queue, long before, long now) {
        long most = queue.equals(MarketTopology.DEAD_LETTER_QUEUE) ? 0 : MOST_WAITING;
        if (now > most && before <= most) {
            LOG.warn("There are {} messages in {}, more than {}", now, queue, most);
        }
    }
}
