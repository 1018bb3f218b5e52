package outbox.samples.market;

import org.jspecify.annotations.Nullable;
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
        if (!isSet(args, "spring.datasource.url") && !hasProfileH2(args)) {
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

    /** Another profile does not bring a database. */
    static boolean hasProfileH2(String... args) {
        String profiles = setting(args, "spring.profiles.active");
        return profiles != null
                && Arrays.stream(profiles.split(",", -1)).map(String::strip).anyMatch("h2"::equals);
    }

    private static boolean isSet(String[] args, String name) {
        return setting(args, name) != null;
    }

    /** A setting that was given as an argument, a system property or, in the way of Spring, as a variable of the environment. */
    private static @Nullable String setting(String[] args, String name) {
        String argument = "--" + name + "=";
        for (String arg : args) {
            if (arg.startsWith(argument)) {
                return arg.substring(argument.length());
            }
        }
        String variable = name.replace('.', '_').toUpperCase(Locale.ROOT);
        return System.getProperty(name, System.getenv(variable));
    }
}
