package outbox.testing.server;

import outbox.testing.internal.Command;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The user that runs PostgreSQL. PostgreSQL refuses to run as root. */
enum PostgresUser {
    /**
     * The user nobody in a separate user namespace; outside that namespace it is the user of the tests. A killed
     * server leaves a shared memory segment behind, which disappears with the IPC namespace. Therefore this is the
     * best choice for ordinary users too.
     */
    NAMESPACE("unshare --user --ipc"),
    /** The user that runs the tests. */
    SAME(""),
    /** The user nobody, for root in a container that does not allow namespaces. */
    NOBODY("setpriv --reuid=65534 --regid=65534 --clear-groups");

    private final String prefix; // the start of a command line

    PostgresUser(String prefix) {
        this.prefix = prefix;
    }

    static PostgresUser choose() {
        if (Command.run(NAMESPACE.command(List.of("true"))).succeeded()) {
            return NAMESPACE;
        }
        return LinuxUser.isRoot() ? NOBODY : SAME;
    }

    ProcessBuilder command(List<String> command) {
        var whole = new ArrayList<String>();
        if (!prefix.isEmpty()) {
            whole.addAll(List.of(prefix.split(" ")));
        }
        whole.addAll(command);
        return new ProcessBuilder(whole);
    }

    /** Makes this user the owner of a directory and its content. */
    void own(Path directory) {
        if (this == NOBODY) {
            Command.run("chown", "-R", "65534:65534", directory.toString()).orThrow();
        }
    }
}
