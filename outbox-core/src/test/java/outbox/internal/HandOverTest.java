package outbox.internal;

import org.junit.jupiter.api.Test;
import outbox.spi.Claim;

import java.time.Duration;

import static org.assertj.core.api.Assertions.assertThat;

class HandOverTest {

    @Test
    void a_claim_is_taken_once_and_again_after_it_was_put_back() {
        Claim claim = Claim.startingNow("token", Duration.ofMinutes(1));
        HandOver handOver = new HandOver(claim, false, null, needs -> {});

        assertThat(handOver.take(System.nanoTime())).isEqualTo(claim);
        assertThat(handOver.take(System.nanoTime())).isNull();
        handOver.putBack(claim);

        assertThat(handOver.take(System.nanoTime())).isEqualTo(claim);
    }

    @Test
    void a_claim_whose_lease_has_ended_is_not_taken() {
        HandOver handOver = new HandOver(new Claim("token", System.nanoTime() - 1), false, null, needs -> {});

        assertThat(handOver.take(System.nanoTime())).isNull();
    }
}
