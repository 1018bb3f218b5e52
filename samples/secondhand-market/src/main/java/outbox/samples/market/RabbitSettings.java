package outbox.samples.market;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The address of the broker and the settings that section 3 requires. The required settings may be set to the
 * required value only, because transport and consumers support no other value.
 *
 * @param publisherConfirmType correlated: an event counts as sent when the broker has confirmed it
 * @param publisherReturns true: a message that no queue receives is returned and has failed
 * @param addresses refused instead of ignored, because otherwise the application could connect to the wrong broker
 * @param ssl refused instead of ignored
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

    /** Only used to refuse SSL. */
    record Ssl(@DefaultValue("false") boolean enabled) {

        Ssl {
            require(!enabled, "ssl.enabled", "false");
        }
    }

    /** Nested as in Spring's properties. */
    record Listener(@DefaultValue Simple simple) {}

    /**
     * Settings of consumers.
     *
     * @param prefetch how many messages a consumer holds at a time
     * @param concurrency how many messages it handles at the same time
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

    /** Does not contain the password. */
    @Override
    public String toString() {
        return "RabbitSettings[" + host + ":" + port + virtualHost + "]";
    }
}
