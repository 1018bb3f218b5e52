package outbox.cli.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** Finds connections that start with an unusual isolation level, without auto-commit, or read-only. */
final class TransactionCheck extends Check {

    TransactionCheck() {
        super("transaction", false);
    }

    @Override
    List<Finding> look(Examination examination) throws SQLException {
        List<Finding> findings = new ArrayList<>();
        Connection connection = examination.connection();
        int isolation = connection.getTransactionIsolation();
        if (!isFine(examination, isolation)) {
            findings.add(finding(
                    "Transactions run with isolation " + name(isolation)
                            + " unless told otherwise: those of the application may fail with conflicts, or"
                            + " see what was rolled back. The outbox sets READ COMMITTED for its own.",
                    examination.isPostgres()
                            ? "Set default_transaction_isolation = 'read committed' for the database, the role"
                                    + " and the URL."
                            : "Set the default isolation of the server and the URL to READ COMMITTED."));
        }
        if (!examination.autoCommit()) {
            findings.add(finding(
                    "Connections begin with auto-commit off: whoever forgets to commit keeps a transaction open.",
                    "Take autocommit=false out of the URL, and let pools hand out connections with auto-commit on."));
        } else if (examination.isMySql() && examination.queries().number("SELECT @@GLOBAL.autocommit") == 0) {
            findings.add(finding(
                    "The server has autocommit = 0: whoever forgets to commit keeps a transaction open.",
                    "Turn it on, here and in the server's configuration.",
                    "SET GLOBAL autocommit = 1;"));
        }
        if (examination.isMySql() && !isStrict(examination)) {
            findings.add(finding(
                    "The server's sql_mode has no STRICT_TRANS_TABLES: unless a writer sets it, as drivers for"
                            + " Java do, values that are too long are cut instead of refused, and events are"
                            + " delivered that nobody wrote.",
                    "Add it to sql_mode, here and in the server's configuration.",
                    "SET GLOBAL sql_mode = CONCAT(@@GLOBAL.sql_mode, ',STRICT_TRANS_TABLES');"));
        }
        if (examination.isPostgres() && isReadOnly(examination)) {
            findings.add(finding(
                    "Transactions are read-only here: this is a standby, or default_transaction_read_only is on.",
                    "Connect to the primary server (targetServerType=primary in the URL), or turn that setting off."));
        }
        return findings;
    }

    private static boolean isStrict(Examination examination) throws SQLException {
        return String.valueOf(examination
                        .queries()
                        .rows("SELECT @@GLOBAL.sql_mode")
                        .get(0)
                        .get(0))
                .matches(".*(STRICT_TRANS_TABLES|STRICT_ALL_TABLES|TRADITIONAL).*");
    }

    private static boolean isFine(Examination examination, int isolation) {
        return isolation == Connection.TRANSACTION_READ_COMMITTED
                || !examination.isPostgres()
                        && isolation
                                // the default of InnoDB; claims set their own level
                                == Connection.TRANSACTION_REPEATABLE_READ;
    }

    private static boolean isReadOnly(Examination examination) throws SQLException {
        return examination
                        .queries()
                        .number("SELECT CASE WHEN pg_is_in_recovery() OR"
                                + " current_setting('default_transaction_read_only') = 'on' THEN 1 ELSE 0 END")
                == 1;
    }

    private static String name(int isolation) {
        return switch (isolation) {
            case Connection.TRANSACTION_READ_UNCOMMITTED -> "READ UNCOMMITTED";
            case Connection.TRANSACTION_READ_COMMITTED -> "READ COMMITTED";
            case Connection.TRANSACTION_REPEATABLE_READ -> "REPEATABLE READ";
            case Connection.TRANSACTION_SERIALIZABLE -> "SERIALIZABLE";
            default -> "level " + isolation;
        };
    }
}
