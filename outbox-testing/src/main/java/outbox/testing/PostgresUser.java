package outbox.testing;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Who runs PostgreSQL, which refuses to be run by root. */
enum PostgresUser {
    /**
     * Nobody in a namespace of its own, outside of which it is the user of the tests. A killed server leaves a segment
     * of shared memory behind; with the IPC namespace that goes too, so ordinary users are better off here as well.
     */
    NAMESPACE("unshare --user --ipc"),
    /** The user of the tests. */
    SAME(""),
    /** The user nobody, for root in a container that forbids namespaces. */
    NOBODY("setpriv --reuid=65534 --regid=65534 --clear-groups");

    private final String prefix; // words of a command line

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

    /** Gives a directory and all that is in it to this user. */
    void own(Path directory) {
        if (this == NOBODY) {
            Command.run("chown", "-R", "65534:65534", directory.toString()).orThrow();
        }
    }
}
