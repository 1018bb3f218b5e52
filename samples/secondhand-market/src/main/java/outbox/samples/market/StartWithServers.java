package outbox.samples.market;

import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.SpringApplication;

import java.io.IOException;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Starts the market with the servers in the settings or at the default addresses. Starts a private server in place
 * of each missing one.
 */
public final class StartWithServers {

    // as in application.properties
    private static final String DATABASE_URL = "jdbc:mariadb://localhost:3306/market";
    private static final int RABBITMQ_PORT = 5672;
    private static final int LOOK_MILLIS = 2_000;

    private StartWithServers() {}

    public static void main(String[] args) {
        List<String> wanted = missing(DATABASE_URL, RABBITMQ_PORT, System.err::println, args);
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

    /** Returns the servers to start, after a check of the default addresses. Reports each decision. */
    static List<String> missing(String databaseUrl, int rabbitPort, Consumer<String> tell, String... args) {
        List<String> wanted = new ArrayList<>();
        if (!isSet(args, "spring.datasource.url") && !hasProfileH2(args)) {
            String user = setting(args, "spring.datasource.username");
            String password = setting(args, "spring.datasource.password");
            String trouble = trouble(() ->
                    DriverManager.getConnection(databaseUrl, user, password).close());
            if (isMissing("MariaDB", databaseUrl, trouble, tell)) {
                wanted.add(Servers.MARIADB);
            }
        }
        if (!isSet(args, "spring.rabbitmq.host") && !isSet(args, "spring.rabbitmq.port")) {
            ConnectionFactory broker = new ConnectionFactory(); // its defaults are those of section 3
            broker.setPort(rabbitPort);
            broker.setUsername(Objects.requireNonNullElse(setting(args, "spring.rabbitmq.username"), "guest"));
            broker.setPassword(Objects.requireNonNullElse(setting(args, "spring.rabbitmq.password"), "guest"));
            broker.setVirtualHost(Objects.requireNonNullElse(setting(args, "spring.rabbitmq.virtual-host"), "/"));
            broker.setConnectionTimeout(LOOK_MILLIS);
            String trouble = trouble(() -> broker.newConnection().close());
            if (isMissing("RabbitMQ", "localhost:" + rabbitPort, trouble, tell)) {
                wanted.add(Servers.RABBITMQ);
            }
        }
        return wanted;
    }

    private interface Look {
        void run() throws Exception;
    }

    /** Returns why a server cannot be used, or null if it can. */
    private static @Nullable String trouble(Look look) {
        try {
            look.run();
            return null;
        } catch (Exception e) {
            return String.valueOf(e.getMessage());
        }
    }

    private static boolean isMissing(String server, String place, @Nullable String trouble, Consumer<String> tell) {
        tell.accept(
                trouble == null
                        ? server + ": uses the one at " + place
                        : server + ": none to use at " + place + " (" + trouble
                                + "); starts a private one, which goes with the market and its data");
        return trouble != null;
    }

    /** Only the profile h2 replaces the database server. */
    static boolean hasProfileH2(String... args) {
        String profiles = setting(args, "spring.profiles.active");
        return profiles != null
                && Arrays.stream(profiles.split(",", -1)).map(String::strip).anyMatch("h2"::equals);
    }

    private static boolean isSet(String[] args, String name) {
        return setting(args, name) != null;
    }

    /** Returns a setting from an argument, a system property or an environment variable with Spring's naming. */
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
