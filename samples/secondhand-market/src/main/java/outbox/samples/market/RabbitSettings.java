package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Where the broker is, and what section 3 froze about talking to it. That can be said in the settings, as there, but not otherwise: transport and consumers know no other way.
 *
 * @param publisherConfirmType correlated: an event is sent when the broker has confirmed it
 * @param publisherReturns true: a message without a queue comes back and has failed
 * @param addresses refused rather than ignored, as a connection to another broker than the one meant would be the result
 * @param ssl refused rather than ignored
 */
@ConfigurationProperties("spring.rabbitmq")
record RabbitSettings(
        @DefaultValue("localhost") String host,
        @DefaultValue("5672") int port,
        @DefaultValue("/") String virtualHost,
        @DefaultValue("guest") String username,
        @DefaultValue("guest") String password,
        @DefaultValue("correlated") String publisherConfirmType,
        @DefaultValue("true") boolean publisherReturns,
        @DefaultValue Listener listener,
        @Nullable String addresses,
        @DefaultValue Ssl ssl) {

    RabbitSettings {
        require(publisherConfirmType.equals("correlated"), "publisher-confirm-type", "correlated");
        require(publisherReturns, "publisher-returns", "true");
        if (addresses != null) {
            throw new IllegalArgumentException(
                    "spring.rabbitmq.addresses is not supported; give spring.rabbitmq.host and spring.rabbitmq.port");
        }
    }

    /** Only to say that there is none. */
    record Ssl(@DefaultValue("false") boolean enabled) {

        Ssl {
            require(!enabled, "ssl.enabled", "false");
        }
    }

    /** As Spring nests them. */
    record Listener(@DefaultValue Simple simple) {}

    /**
     * How messages are consumed.
     *
     * @param prefetch how many messages a consumer has at a time
     * @param concurrency how many of them it handles at a time
     */
    record Simple(
            @DefaultValue("manual") String acknowledgeMode,
            @DefaultValue("20") int prefetch,
            @DefaultValue("false") boolean defaultRequeueRejected,
            @DefaultValue("2") int concurrency) {

        Simple {
            require(acknowledgeMode.equals("manual"), "listener.simple.acknowledge-mode", "manual");
            require(!defaultRequeueRejected, "listener.simple.default-requeue-rejected", "false");
        }
    }

    private static void require(boolean right, String setting, String value) {
        if (!right) {
            throw new IllegalArgumentException("spring.rabbitmq." + setting + " can only be " + value);
        }
    }

    /** Without the password. */
    @Override
    public String toString() {
        return "RabbitSettings[" + host + ":" + port + virtualHost + "]";
    }
}
