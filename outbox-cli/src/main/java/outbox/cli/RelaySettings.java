package outbox.cli;

import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.http.WebhookSecret;
import outbox.internal.text.PrintableText;
import outbox.relay.RelaySettings.Cleaner;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The checked settings of the relay process. {@link Setting} lists their names in the environment, flags and
 * defaults.
 */
record RelaySettings(Database database, Delivery delivery, Cleaner cleaner, Transport transport, Server server) {

    /** How events are claimed and delivered: the settings of every relay, and those of the process. */
    record Delivery(
            boolean enabled,
            List<String> tables,
            boolean singleActive,
            Duration pollInterval,
            int batchSize,
            Duration lockTtl,
            Optional<Duration> databaseTimeout,
            MaxAttempts maxAttempts,
            Duration dispatchTimeout,
            Duration drainTime,
            int lastErrorMaxBytes,
            Duration maxSilence) {}

    /**
     * The destination of events: the HTTP endpoint, the broker, or standard output if neither is set. The value of
     * the header Authorization may change at run time.
     */
    record Transport(
            Optional<URI> endpoint,
            Optional<String> secret,
            Optional<Supplier<String>> authorization,
            Optional<Broker> broker) {

        static Transport stdout() {
            return new Transport(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());
        }
    }

    /** The destination of the rabbitmq transport. */
    record Broker(ConnectionFactory factory, String exchange) {}

    /** The server of health and metrics. */
    record Server(InetSocketAddress bind, Optional<String> token, Optional<String> metricsPath) {}

    private static final Duration SHORTEST = Duration.ofMillis(10);
    private static final Duration LONGEST = Duration.ofDays(36_500);
    private static final int MIN_TOKEN = 16;
    private static final Duration SHORTEST_SILENCE = Duration.ofSeconds(30);
    private static final int POLLS_OF_SILENCE = 5;

    /** @throws SettingsException if settings are wrong; the message lists all problems */
    static RelaySettings of(Settings settings, Secrets secrets) {
        Database database = Database.of(settings, secrets);
        String product = database == null ? "" : database.product();
        outbox.relay.RelaySettings common = outbox.relay.RelaySettings.read(settings.texts(), settings::problem)
                .orElse(null);
        Delivery delivery = delivery(settings, product, common);
        Cleaner cleaner =
                common == null || delivery == null ? null : cleaner(settings, product, common.cleaner(), delivery);
        Transport transport = transport(settings, secrets, delivery != null && delivery.enabled());
        Server server = server(settings);
        transport.secret().ifPresent(secrets::add);
        if (server != null) {
            server.token().ifPresent(secrets::add);
        }
        if (delivery != null
                && delivery.tables().isEmpty()
                && cleaner != null
                && cleaner.tables().isEmpty()) {
            settings.problem(
                    Setting.RELAY_TABLES,
                    "names no table, so there is nothing to do: set it to the tables, as in public.org_outbox");
        }
        settings.check();
        return new RelaySettings(
                Objects.requireNonNull(database),
                Objects.requireNonNull(delivery),
                Objects.requireNonNull(cleaner),
                transport,
                Objects.requireNonNull(server));
    }

    /**
     * Returns null if a setting is wrong; the problem has been added to the settings. This holds for all methods
     * here.
     */
    private static @Nullable Delivery delivery(
            Settings settings, String product, outbox.relay.@Nullable RelaySettings common) {
        Optional<Duration> databaseTimeout = settings.readOptional(Setting.RELAY_DATABASE_TIMEOUT, RelaySettings::span);
        Optional<Duration> maxSilence = settings.readOptional(Setting.HEALTH_MAX_SILENCE, RelaySettings::span);
        Duration drainTime = settings.read(Setting.RELAY_DRAIN_TIME, Durations::parse);
        if (common == null || drainTime == null) {
            return null;
        }
        outbox.relay.RelaySettings.Delivery delivery = common.delivery();
        if (databaseTimeout.isPresent()
                && databaseTimeout.get().compareTo(delivery.lockTtl().dividedBy(2)) > 0) {
            settings.problem(
                    Setting.RELAY_DATABASE_TIMEOUT,
                    "must be at most half of " + Setting.RELAY_LOCK_TTL.key() + ": what is given up must be done again"
                            + " while the events are leased");
        }
        return new Delivery(
                delivery.enabled(),
                tables(settings, Setting.RELAY_TABLES, product, delivery.tables()),
                delivery.singleActive(),
                delivery.pollInterval(),
                delivery.batchSize(),
                delivery.lockTtl(),
                databaseTimeout,
                settings.maxAttempts(delivery.maxAttempts()),
                delivery.dispatchTimeout(),
                drainTime,
                delivery.lastErrorMaxBytes(),
                maxSilence.orElseGet(() -> silenceOf(delivery.pollInterval())));
    }

    private static Duration silenceOf(Duration pollInterval) {
        Duration silence = pollInterval.multipliedBy(POLLS_OF_SILENCE);
        return silence.compareTo(SHORTEST_SILENCE) < 0 ? SHORTEST_SILENCE : silence;
    }

    private static Cleaner cleaner(Settings settings, String product, Cleaner common, Delivery delivery) {
        return new Cleaner(
                common.enabled(),
                settings.text(Setting.CLEANER_TABLES).isPresent()
                        ? tables(settings, Setting.CLEANER_TABLES, product, common.tables())
                        : delivery.tables(),
                common.interval(),
                common.retention(),
                common.deadRetention());
    }

    private static Transport transport(Settings settings, Secrets secrets, boolean needed) {
        String name = settings.read(Setting.TRANSPORT, text -> oneOf(text, "http", "rabbitmq", "stdout"));
        Optional<URI> endpoint = settings.readOptional(Setting.HTTP_ENDPOINT, RelaySettings::endpoint);
        Optional<String> secret = settings.secret(Setting.HTTP_SECRET, Setting.HTTP_SECRET_FILE);
        secret.ifPresent(text -> checkSecret(settings, text));
        Optional<Supplier<String>> authorization = authorization(settings, secrets);
        if ("stdout".equals(name)) {
            if (settings.text(Setting.HTTP_ENDPOINT).isPresent()) {
                settings.problem(
                        Setting.HTTP_ENDPOINT,
                        "is given, but events go to standard output: take one of the two settings out");
            }
            return Transport.stdout();
        }
        if ("rabbitmq".equals(name)) {
            return new Transport(
                    Optional.empty(), Optional.empty(), Optional.empty(), broker(settings, secrets, needed));
        }
        if (needed && settings.text(Setting.HTTP_ENDPOINT).isEmpty()) {
            settings.problem(
                    Setting.HTTP_ENDPOINT,
                    "is missing: set it to where events are posted, as in http://127.0.0.1:8080/events, or set "
                            + Setting.TRANSPORT.key() + " to stdout");
        }
        return new Transport(endpoint, secret, authorization, Optional.empty());
    }

    private static Optional<Supplier<String>> authorization(Settings settings, Secrets secrets) {
        Optional<String> direct = settings.readOptional(Setting.HTTP_AUTHORIZATION, AuthorizationFile::checked);
        Optional<AuthorizationFile> file = settings.readOptional(
                Setting.HTTP_AUTHORIZATION_FILE, name -> new AuthorizationFile(name, secrets, System::nanoTime));
        direct.ifPresent(secrets::add);
        if (direct.isPresent() && file.isPresent()) {
            settings.problem(
                    Setting.HTTP_AUTHORIZATION_FILE,
                    "and " + Setting.HTTP_AUTHORIZATION.key() + " are both given: keep one of them");
        }
        return direct.<Supplier<String>>map(value -> () -> value).or(() -> file);
    }

    private static Optional<Broker> broker(Settings settings, Secrets secrets, boolean needed) {
        Optional<String> uri = settings.text(Setting.AMQP_URI);
        Optional<String> exchange = settings.text(Setting.AMQP_EXCHANGE);
        Optional<String> password = settings.secret(Setting.AMQP_PASSWORD, Setting.AMQP_PASSWORD_FILE);
        if (settings.text(Setting.HTTP_ENDPOINT).isPresent()) {
            settings.problem(
                    Setting.HTTP_ENDPOINT, "is given, but events go to RabbitMQ: take one of the two settings out");
        }
        if (needed && uri.isEmpty()) {
            settings.problem(Setting.AMQP_URI, "is missing: set it to where the broker is");
        }
        if (needed && exchange.isEmpty()) {
            settings.problem(Setting.AMQP_EXCHANGE, "is missing: set it to the exchange that events are published to");
        }
        if (uri.isEmpty() || exchange.isEmpty()) {
            return Optional.empty();
        }
        boolean isFlag =
                settings.origin(Setting.AMQP_URI).equals(Setting.AMQP_URI.flag().orElse(""));
        ConnectionFactory factory = BrokerAddress.factory(uri.get(), isFlag, settings.origin(Setting.AMQP_URI));
        BrokerAddress.authenticate(
                factory, settings.text(Setting.AMQP_USER).orElse(null), password.orElse(null), secrets);
        return Optional.of(new Broker(factory, exchange.get()));
    }

    private static void checkSecret(Settings settings, String text) {
        try {
            WebhookSecret.parse(text);
        } catch (IllegalArgumentException e) { // the message does not quote the secret
            settings.problem(Setting.HTTP_SECRET, "cannot be used: " + e.getMessage());
        }
    }

    private static @Nullable Server server(Settings settings) {
        InetSocketAddress bind = settings.read(Setting.SERVER_BIND, RelaySettings::address);
        Optional<String> token = settings.secret(Setting.SERVER_TOKEN, Setting.SERVER_TOKEN_FILE);
        Boolean metrics = settings.read(Setting.METRICS_ENABLED, RelaySettings::truth);
        String path = settings.read(Setting.METRICS_PATH, RelaySettings::path);
        if (token.isPresent() && token.get().length() < MIN_TOKEN) {
            settings.problem(Setting.SERVER_TOKEN, "must have at least " + MIN_TOKEN + " characters");
        }
        if (bind != null && !bind.getAddress().isLoopbackAddress() && token.isEmpty()) {
            settings.problem(
                    Setting.SERVER_BIND,
                    "is " + bind.getHostString() + ":" + bind.getPort()
                            + ", which others can reach, and there are no credentials: set "
                            + Setting.SERVER_TOKEN.key()
                            + " or " + Setting.SERVER_TOKEN_FILE.key() + ", or bind to 127.0.0.1");
        }
        if (bind == null || metrics == null || path == null) {
            return null;
        }
        return new Server(bind, token, metrics ? Optional.of(path) : Optional.empty());
    }

    private static Boolean truth(String text) {
        return oneOf(text.toLowerCase(Locale.ROOT), "true", "false").equals("true");
    }

    private static String oneOf(String text, String... allowed) {
        if (Arrays.asList(allowed).contains(text)) {
            return text;
        }
        throw new IllegalArgumentException(
                "must be " + String.join(" or ", allowed) + ", but is '" + PrintableText.of(text) + "'");
    }

    /** The table names as the database stores them, so that two spellings of one table are equal. */
    private static List<String> tables(Settings settings, Setting setting, String product, List<String> names) {
        Set<String> kept = new LinkedHashSet<>();
        for (String name : names) {
            try {
                if (!kept.add(Database.table(product, name))) {
                    settings.problem(setting, "names " + name + " twice");
                }
            } catch (IllegalArgumentException e) {
                settings.problem(setting, "cannot be used: " + e.getMessage());
            }
        }
        return List.copyOf(kept);
    }

    private static Duration span(String text) {
        Duration span = Durations.parse(text);
        if (span.compareTo(SHORTEST) < 0 || span.compareTo(LONGEST) > 0) {
            throw new IllegalArgumentException(
                    "must be at least " + SHORTEST.toMillis() + "ms, but is '" + PrintableText.of(text) + "'");
        }
        return span;
    }

    private static URI endpoint(String text) {
        URI uri;
        try {
            uri = URI.create(text);
        } catch (IllegalArgumentException e) { // the message quotes the URI, which may contain a token
            throw new IllegalArgumentException("must be a URL, as in http://127.0.0.1:8080/events", e);
        }
        String scheme = String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT);
        if (!scheme.equals("http") && !scheme.equals("https") || uri.getHost() == null) {
            throw new IllegalArgumentException("must be an http or https URL with a host");
        }
        return uri;
    }

    private static String path(String text) {
        if (!text.matches("/[A-Za-z0-9._~/-]*") || text.equals("/health") || text.equals("/")) {
            throw new IllegalArgumentException("must be a path such as /debug/prometheus, other than /health, but is '"
                    + PrintableText.of(text) + "'");
        }
        return text;
    }

    private static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        String host = colon < 0 ? "" : text.substring(0, colon).replaceAll("^\\[(.*)]$", "$1");
        String port = text.substring(colon + 1);
        if (host.isEmpty() || !port.matches("\\d{1,5}") || Integer.parseInt(port) > 65_535) {
            throw new IllegalArgumentException(
                    "must be HOST:PORT, as in 127.0.0.1:9470, but is '" + PrintableText.of(text) + "'");
        }
        try {
            return new InetSocketAddress(InetAddress.getByName(host), Integer.parseInt(port));
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException("names a host that is not known: '" + PrintableText.of(host) + "'", e);
        }
    }
}
