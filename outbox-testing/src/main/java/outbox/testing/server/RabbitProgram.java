package outbox.testing.server;

import outbox.testing.internal.Loopback;
import outbox.testing.internal.Unavailable;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * RabbitMQ as installed by the package {@code rabbitmq-server}, run as a node that is independent of a system
 * broker. It has its own ports, node name, name service, cookie and configuration.
 */
record RabbitProgram(Path directory, int port, int managementPort, int nodePort, int namePort)
        implements RunnableServer {
    /**
     * The directory of the programs. The scripts in {@code sbin} are not used, because they switch to the user of
     * the system broker.
     */
    private static final Path PROGRAMS = Path.of("/usr/lib/rabbitmq/bin");

    private static final Path NAME_SERVICE = Path.of("/usr/bin/epmd");
    private static final String CONFIGURATION = """
            listeners.tcp.1 = 127.0.0.1:%d
            management.tcp.ip = 127.0.0.1
            management.tcp.port = %d
            log.console = true
            log.file = false
            disk_free_limit.absolute = 50MB
            vm_memory_high_watermark.relative = 0.6
            """;

    static void requireInstalled() {
        for (var program : List.of(PROGRAMS.resolve("rabbitmq-server"), NAME_SERVICE)) {
            if (!Files.isExecutable(program)) {
                throw Unavailable.because(
                        "RabbitMQ",
                        "there is no " + program,
                        "Install the package rabbitmq-server of Debian or Ubuntu");
            }
        }
    }

    static RabbitProgram in(Path directory) throws IOException {
        var program = new RabbitProgram(
                directory, Loopback.freePort(), Loopback.freePort(), Loopback.freePort(), Loopback.freePort());
        Files.createDirectory(directory.resolve("home"));
        Files.writeString(directory.resolve("enabled_plugins"), "[rabbitmq_management].");
        Files.writeString(
                directory.resolve("rabbitmq.conf"), CONFIGURATION.formatted(program.port, program.managementPort));
        return program;
    }

    ProcessBuilder nameService() {
        return new ProcessBuilder(
                NAME_SERVICE.toString(), "-port", Integer.toString(namePort), "-address", Loopback.HOST);
    }

    ProcessBuilder server() {
        return command("rabbitmq-server");
    }

    ProcessBuilder control(String... arguments) {
        return command("rabbitmqctl", arguments);
    }

    private ProcessBuilder command(String name, String... arguments) {
        var command = new ArrayList<>(List.of(PROGRAMS.resolve(name).toString()));
        command.addAll(List.of(arguments));
        var builder = new ProcessBuilder(command).directory(directory.toFile());
        builder.environment().keySet().removeIf(variable -> variable.startsWith("RABBITMQ_"));
        builder.environment().putAll(environment());
        return builder;
    }

    private Map<String, String> environment() {
        return Map.ofEntries(
                Map.entry("HOME", directory.resolve("home").toString()), // the Erlang cookie is stored here
                Map.entry("LC_ALL", "C.UTF-8"),
                // the script then replaces itself with the node and does not stay as its parent
                Map.entry("RUNNING_UNDER_SYSTEMD", "true"),
                Map.entry("ERL_EPMD_PORT", Integer.toString(namePort)),
                Map.entry("ERL_EPMD_ADDRESS", Loopback.HOST),
                Map.entry("RABBITMQ_NODENAME", "outbox%d@localhost".formatted(port)),
                Map.entry("RABBITMQ_DIST_PORT", Integer.toString(nodePort)),
                Map.entry("RABBITMQ_MNESIA_BASE", directory.resolve("mnesia").toString()),
                Map.entry("RABBITMQ_LOG_BASE", directory.resolve("log").toString()),
                Map.entry(
                        "RABBITMQ_CONFIG_FILE",
                        directory.resolve("rabbitmq.conf").toString()),
                Map.entry("RABBITMQ_PID_FILE", directory.resolve("pid").toString()),
                Map.entry(
                        "RABBITMQ_ENABLED_PLUGINS_FILE",
                        directory.resolve("enabled_plugins").toString()),
                Map.entry("RABBITMQ_CONF_ENV_FILE", "/dev/null"),
                Map.entry("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1}"));
    }

    @Override
    public String title() {
        return "RabbitMQ";
    }

    @Override
    public String id() {
        return "rabbitmq";
    }

    /** The last message of the startup. The plugins also run by then. */
    @Override
    public String readyText() {
        return "Server startup complete";
    }

    @Override
    public void stop(ProcessHandle server) {
        server.destroy();
    }
}
