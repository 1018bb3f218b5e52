package outbox.jdbc;

import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

class H2ReconcileCrashTest extends ReconcileCrashContract {

    @TempDir
    private Path directory;

    H2ReconcileCrashTest() {
        super(Databases.H2);
    }

    /** The first process that opens the file serves the others: this one, which stays. */
    @Override
    String newUrl() {
        return "jdbc:h2:file:" + directory.resolve("reconcile") + ";AUTO_SERVER=TRUE";
    }
}
