package outbox.samples.market;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.scheduling.annotation.SchedulingConfigurer;
import org.springframework.scheduling.config.FixedDelayTask;
import org.springframework.scheduling.config.ScheduledTaskRegistrar;
import org.springframework.stereotype.Component;

import java.util.List;

/**
 * The fallback for missing messages: closes overdue orders, so that no order stays pending while the
 * broker is unavailable.
 */
@Component
class OrderTimeoutJob implements SchedulingConfigurer {

    private static final Logger LOG = LoggerFactory.getLogger(OrderTimeoutJob.class);

    private final OrderService orders;
    private final OrderTimeoutSettings settings;

    OrderTimeoutJob(OrderService orders, OrderTimeoutSettings settings) {
        this.orders = orders;
        this.settings = settings;
    }

    @Override
    public void configureTasks(ScheduledTaskRegistrar tasks) {
        tasks.addFixedDelayTask(new FixedDelayTask(this::run, settings.jobInterval(), settings.jobInterval()));
    }

    /** Reads pages by id, so that orders that cannot be closed do not block the orders behind them. */
    void run() {
        long last = 0;
        List<Long> overdue;
        do {
            overdue = orders.overdue(last, settings.jobBatch());
            for (long id : overdue) {
                close(id);
                last = id;
            }
        } while (overdue.size() == settings.jobBatch());
    }

    private void close(long id) {
        try {
            if (orders.close(id)) {
                LOG.info("Order {} was overdue and is cancelled by the job", id);
            }
        } catch (RuntimeException e) {
            LOG.warn("Overdue order {} could not be closed; the next run tries again", id, e);
        }
    }
}
