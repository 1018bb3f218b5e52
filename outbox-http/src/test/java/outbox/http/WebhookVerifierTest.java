package outbox.http;

import org.junit.jupiter.api.Test;

import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

/** Uses the test vector of the Standard Webhooks libraries. */
class WebhookVerifierTest {

    private static final WebhookSecret SECRET = WebhookSecret.parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    private static final String ID = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    private static final String TIME = "1614265330";
    private static final byte[] BODY = "{\"test\": 2432232314}".getBytes(StandardCharsets.UTF_8);
    private static final String SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    private static WebhookVerifier verifier(long secondsLater) {
        return WebhookVerifier.of(SECRET)
                .withClock(Clock.fixed(Instant.ofEpochSecond(1614265330L + secondsLater), ZoneOffset.UTC));
    }

    @Test
    void the_example_is_genuine() {
        assertThat(SECRET.sign(ID, 1614265330L, BODY)).isEqualTo(SIGNATURE);
        assertThat(verifier(0).isGenuine(ID, TIME, SIGNATURE, BODY)).isTrue();
        assertThat(verifier(0).isGenuine(ID, TIME, "v2,abc v1,AAAA " + SIGNATURE, BODY))
                .isTrue();
    }

    @Test
    void any_of_several_secrets_will_do() {
        WebhookVerifier both = WebhookVerifier.of(WebhookSecret.of(new byte[24]), SECRET)
                .withClock(Clock.fixed(Instant.ofEpochSecond(1614265330L), ZoneOffset.UTC));

        assertThat(both.isGenuine(ID, TIME, SIGNATURE, BODY)).isTrue();
    }

    @Test
    void whatever_is_changed_or_missing_is_not() {
        WebhookVerifier verifier = verifier(0);

        assertThat(verifier.isGenuine("msg_other", TIME, SIGNATURE, BODY)).isFalse();
        assertThat(verifier.isGenuine(ID, "1614265331", SIGNATURE, BODY)).isFalse();
        assertThat(verifier.isGenuine(ID, TIME, SIGNATURE.replace("v1,g", "v1,h"), BODY))
                .isFalse();
        assertThat(verifier.isGenuine(ID, TIME, SIGNATURE.replace("v1,", "v1a,"), BODY))
                .isFalse();
        assertThat(verifier.isGenuine(ID, TIME, SIGNATURE, new byte[0])).isFalse();
        assertThat(verifier.isGenuine(null, TIME, SIGNATURE, BODY)).isFalse();
        assertThat(verifier.isGenuine(ID, null, SIGNATURE, BODY)).isFalse();
        assertThat(verifier.isGenuine(ID, TIME, null, BODY)).isFalse();
        assertThat(verifier.isGenuine(ID, TIME, "", BODY)).isFalse();
        for (String time : new String[] {"", "-1614265330", "1614265330.0", "9".repeat(30), "now"}) {
            assertThat(verifier.isGenuine(ID, time, SIGNATURE, BODY)).isFalse();
        }
        assertThat(WebhookVerifier.of(WebhookSecret.of(new byte[24]))
                        .withClock(Clock.fixed(Instant.ofEpochSecond(1614265330L), ZoneOffset.UTC))
                        .isGenuine(ID, TIME, SIGNATURE, BODY))
                .isFalse();
    }

    @Test
    void a_signature_that_is_old_or_early_is_not() {
        assertThat(verifier(300).isGenuine(ID, TIME, SIGNATURE, BODY)).isTrue();
        assertThat(verifier(-300).isGenuine(ID, TIME, SIGNATURE, BODY)).isTrue();
        assertThat(verifier(301).isGenuine(ID, TIME, SIGNATURE, BODY)).isFalse();
        assertThat(verifier(-301).isGenuine(ID, TIME, SIGNATURE, BODY)).isFalse();
        assertThat(verifier(20).within(Duration.ofSeconds(10)).isGenuine(ID, TIME, SIGNATURE, BODY))
                .isFalse();
        assertThatThrownBy(() -> verifier(0).within(Duration.ZERO)).isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(WebhookVerifier::of).isInstanceOf(IllegalArgumentException.class);
    }
}
