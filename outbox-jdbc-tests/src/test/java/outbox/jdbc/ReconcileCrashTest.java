package outbox.jdbc;

import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Path;

class ReconcileCrashTest {

    @Nested
    class OnH2 extends ReconcileCrashContract {

        @TempDir
        private Path directory;

        OnH2() {
            super(Databases.H2);
        }

        /** The first process that opens the file serves the others. This process is the first, and it stays. */
        @Override
        String newUrl() {
            return "jdbc:h2:file:" + directory.resolve("reconcile") + ";AUTO_SERVER=TRUE";
        }
    }

    @Nested
    class OnPostgres extends ReconcileCrashContract {

        OnPostgres() {
            super(Databases.POSTGRES);
        }
    }

    @Nested
    @Tag("mariadb")
    class OnMariaDb extends ReconcileCrashContract {

        OnMariaDb() {
            super(Databases.MARIADB);
        }
    }

    @Nested
    @Tag("mysql")
    class OnMySql extends ReconcileCrashContract {

        OnMySql() {
            super(Databases.MYSQL);
        }
    }
}
