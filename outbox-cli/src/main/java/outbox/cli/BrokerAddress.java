package outbox.cli;

import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;

import java.net.URI;
import java.net.URISyntaxException;
import java.security.GeneralSecurityException;
import java.time.Duration;

/** The address of a broker and the user who connects to it. */
final class BrokerAddress {

    private static final int CONNECT_MILLIS = (int) Duration.ofSeconds(10).toMillis();

    private BrokerAddress() {}

    /**
     * Returns a factory of connections to the broker.
     *
     * @param isFlag whether the URI is a command line argument; other users can read those, so it must not contain a
     *     password
     * @param origin where the URI was set
     * @throws IllegalArgumentException if the URI cannot be used
     */
    static ConnectionFactory factory(String uri, boolean isFlag, String origin) {
        try {
            URI address = new URI(uri.strip());
            String userInfo = address.getRawUserInfo();
            if (isFlag && userInfo != null && userInfo.contains(":")) {
                throw new SettingsException(origin + " must not hold a password, which others could read: put it into "
                        + Setting.AMQP_PASSWORD.key() + ", or the whole URI into " + Setting.AMQP_URI.key() + ".");
            }
            ConnectionFactory factory = new ConnectionFactory();
            factory.setConnectionTimeout(CONNECT_MILLIS);
            factory.setUri(address);
            return factory;
        } catch (URISyntaxException | IllegalArgumentException | GeneralSecurityException e) {
            throw new SettingsException(
                    origin + " is not the URI of a broker, as in amqp://host:5672/vhost or amqps://host/vhost.");
        }
    }

    /** Sets user and password if they are given, and adds the password to the secrets. */
    static void authenticate(
            ConnectionFactory factory, @Nullable String user, @Nullable String password, Secrets secrets) {
        if (user != null && !user.isBlank()) {
            factory.setUsername(user);
        }
        if (password != null && !password.isEmpty()) {
            factory.setPassword(password);
        }
        secrets.add(factory.getPassword());
    }
}
