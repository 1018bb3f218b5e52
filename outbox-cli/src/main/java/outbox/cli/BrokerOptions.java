package outbox.cli;

import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.rabbitmq.DeadLetters;
import picocli.CommandLine.Option;

/**
 * The broker and its dead-letter queue, set by flags or by the environment. There is no flag for the password,
 * because other users can read the arguments of a process.
 */
final class BrokerOptions {

    private static final String URI_VARIABLE = "OUTBOX_AMQP_URI";
    private static final String USER_VARIABLE = "OUTBOX_AMQP_USER";
    private static final String PASSWORD_VARIABLE = "OUTBOX_AMQP_PASSWORD";

    @Option(
            names = "--amqp-uri",
            paramLabel = "URI",
            description = "where the broker is, as amqp://host:5672/vhost; or OUTBOX_AMQP_URI, which may hold user and"
                    + " password")
    private @Nullable String uri;

    @Option(names = "--amqp-user", paramLabel = "NAME", description = "user of the broker; or OUTBOX_AMQP_USER")
    private @Nullable String user;

    @Option(
            names = "--amqp-password-env",
            paramLabel = "VARIABLE",
            description = "environment variable that holds the password; default OUTBOX_AMQP_PASSWORD")
    private String passwordVariable = PASSWORD_VARIABLE;

    @Option(
            names = "--queue",
            required = true,
            paramLabel = "NAME",
            description = "the dead-letter queue; always named")
    private String queue = "";

    String queue() {
        return queue;
    }

    DeadLetters deadLetters(Io io) {
        return DeadLetters.of(factory(io), queue);
    }

    private ConnectionFactory factory(Io io) {
        String text = uri == null ? io.environment().get(URI_VARIABLE) : uri;
        String origin = uri == null ? URI_VARIABLE : "--amqp-uri";
        if (text == null || text.isBlank()) {
            throw new SettingsException("--amqp-uri or " + URI_VARIABLE + " is missing: where the broker is");
        }
        ConnectionFactory factory = BrokerAddress.factory(text, uri != null, origin);
        String password = io.environment().get(passwordVariable);
        if (password == null && !passwordVariable.equals(PASSWORD_VARIABLE)) {
            throw new SettingsException("--amqp-password-env: there is no environment variable " + passwordVariable
                    + ". Set it, or name the one that holds the password.");
        }
        BrokerAddress.authenticate(
                factory, user == null ? io.environment().get(USER_VARIABLE) : user, password, io.secrets());
        return factory;
    }
}
