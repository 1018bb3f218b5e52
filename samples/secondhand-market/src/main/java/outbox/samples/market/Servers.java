package outbox.samples.market;

import org.opentest4j.TestAbortedException;
import outbox.testing.server.MariaDbServer;
import outbox.testing.server.RabbitServer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Private servers in a separate process, which does not receive signals of the terminal. An interrupt first
 * stops the market in order. The servers stop when the market process has ended for any reason. Their data is
 * deleted with them.
 */
final class Servers {

    static final String MARIADB = "mariadb";
    static final String RABBITMQ = "rabbitmq";

    private static final String READY = "ready";

    private Servers() {}

    /** Starts servers and returns the settings that point to them. */
    static List<String> start(List<String> wanted) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                "setsid",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-cp",
                System.getProperty("java.class.path"),
                Servers.class.getName()));
        command.addAll(wanted);
        Process servers =
                new ProcessBuilder(command).redirectError(Redirect.INHERIT).start();
        BufferedReader output =
                new BufferedReader(new InputStreamReader(servers.getInputStream(), StandardCharsets.UTF_8));
        List<String> settings = new ArrayList<>();
        for (String line = output.readLine(); !READY.equals(line); line = output.readLine()) {
            if (line == null) {
                throw new IOException("The servers did not start");
            }
            settings.add(line);
        }
        return settings;
    }

    public static void main(String[] wanted) throws IOException {
        try {
            for (String server : wanted) {
                System.out.println(server.equals(MARIADB) ? mariaDb() : rabbitMq());
            }
        } catch (TestAbortedException e) { // thrown by the test harness; its message mentions a test
            System.err.println(e.getMessage() + " Or name a running one, see samples/secondhand-market/README.md.");
            System.exit(1);
        }
        System.out.println(READY);
        while (System.in.read() >= 0) {
            // nothing is ever written; the stream ends when the market process ends
        }
        System.exit(0);
    }

    private static String mariaDb() {
        String url = MariaDbServer.start().createDatabase();
        System.err.println("The private MariaDB is at " + url);
        return "--spring.datasource.url=" + url;
    }

    private static String rabbitMq() {
        RabbitServer rabbit = RabbitServer.start();
        System.err.println("The private RabbitMQ is at 127.0.0.1:" + rabbit.port()
                + ", its management at http://127.0.0.1:" + rabbit.managementPort() + ", user and password guest");
        return "--spring.rabbitmq.host=127.0.0.1\n--spring.rabbitmq.port=" + rabbit.port();
    }
}
