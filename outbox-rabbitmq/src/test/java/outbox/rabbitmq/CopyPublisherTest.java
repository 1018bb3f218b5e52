package outbox.rabbitmq;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.ConnectionFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.testing.fault.FaultProxy;
import outbox.testing.fault.FaultProxy.Direction;
import outbox.testing.server.RabbitServer;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@Tag("rabbitmq")
class CopyPublisherTest {

    @Test
    void a_close_ends_a_write_to_a_broker_that_does_not_read() throws Exception {
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try (OrderBroker broker = new OrderBroker(RabbitServer.shared());
                FaultProxy proxy = FaultProxy.to(broker.server.port())) {
            ConnectionFactory factory = broker.factory();
            factory.setPort(proxy.port());
            factory.setAutomaticRecoveryEnabled(false);
            CopyPublisher copies = new CopyPublisher(factory, "test");
            copies.publish("", OrderBroker.QUEUE, new BasicProperties(), new byte[1]);

            proxy.blackhole(Direction.TO_SERVER);
            Future<?> writing = thread.submit(() -> {
                copies.publish("", OrderBroker.QUEUE, new BasicProperties(), new byte[64 << 20]);
                return true;
            });
            assertThatThrownBy(() -> writing.get(1, TimeUnit.SECONDS)).isInstanceOf(TimeoutException.class);
            long begin = System.nanoTime();
            copies.close();

            assertThatThrownBy(() -> writing.get(5, TimeUnit.SECONDS))
                    .hasCauseInstanceOf(CopyPublisher.NotPublishedException.class);
            assertThat(System.nanoTime() - begin).isLessThan(TimeUnit.SECONDS.toNanos(5));
        } finally {
            thread.shutdownNow();
        }
    }
}
