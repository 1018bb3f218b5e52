package outbox.samples.market;

import org.springframework.boot.SpringApplication;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** Starts the market, with private servers in the place of those that no setting names. */
public final class StartWithServers {

    private StartWithServers() {}

    public static void main(String[] args) {
        List<String> wanted = new ArrayList<>();
        if (!isSet(args, "spring.datasource.url") && !isSet(args, "spring.profiles.active")) {
            wanted.add(Servers.MARIADB);
        }
        if (!isSet(args, "spring.rabbitmq.host") && !isSet(args, "spring.rabbitmq.port")) {
            wanted.add(Servers.RABBITMQ);
        }
        List<String> settings = new ArrayList<>(List.of(args));
        try {
            if (!wanted.isEmpty()) {
                settings.addAll(Servers.start(wanted));
            }
        } catch (IOException e) {
            System.err.println(e.getMessage());
            System.exit(1);
        }
        SpringApplication.run(MarketApplication.class, settings.toArray(String[]::new));
    }

    /** Whether a setting was given as an argument, a system property or, in the way of Spring, as a variable of the environment. */
    private static boolean isSet(String[] args, String setting) {
        String variable = setting.replace('.', '_').toUpperCase(Locale.ROOT);
        return Arrays.stream(args).anyMatch(arg -> arg.startsWith("--" + setting + "="))
                || System.getProperty(setting) != null
                || System.getenv(variable) != null;
    }
}
