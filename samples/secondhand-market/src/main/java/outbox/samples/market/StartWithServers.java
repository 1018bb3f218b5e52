package outbox.samples.market;

import org.opentest4j.TestAbortedException;
import org.springframework.boot.SpringApplication;
import outbox.testing.MariaDbServer;
import outbox.testing.RabbitServer;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Starts the market with private servers in the place of those that no setting names. What is in them goes with them. */
public final class StartWithServers {

    private StartWithServers() {}

    public static void main(String[] args) {
        List<String> settings = new ArrayList<>(List.of(args));
        try {
            if (!isSet(args, "spring.datasource.url") && !isSet(args, "spring.profiles.active")) {
                settings.add("--spring.datasource.url=" + MariaDbServer.start().createDatabase());
            }
            if (!isSet(args, "spring.rabbitmq.host") && !isSet(args, "spring.rabbitmq.port")) {
                RabbitServer rabbit = RabbitServer.start();
                settings.add("--spring.rabbitmq.host=127.0.0.1");
                settings.add("--spring.rabbitmq.port=" + rabbit.port());
                say("RabbitMQ: port " + rabbit.port() + ", management at http://127.0.0.1:" + rabbit.managementPort()
                        + " (guest/guest)");
            }
        } catch (TestAbortedException e) { // the harness of the tests speaks of a test
            say(e.getMessage() + " Or name a running server, see samples/secondhand-market/README.md.");
            System.exit(2);
        }
        SpringApplication.run(MarketApplication.class, settings.toArray(String[]::new));
    }

    /** Whether a setting was given as an argument, a system property or, in the way of Spring, as a variable of the environment. */
    private static boolean isSet(String[] args, String setting) {
        String variable = setting.replace('.', '_').replace("-", "").toUpperCase(Locale.ROOT);
        return Arrays.stream(args).anyMatch(arg -> arg.startsWith("--" + setting + "="))
                || System.getProperty(setting) != null
                || System.getenv(variable) != null;
    }

    private static void say(String line) {
        System.out.println(line);
    }
}
