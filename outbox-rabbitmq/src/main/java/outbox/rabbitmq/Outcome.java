package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.inbox.InboxException;
import outbox.spi.ErrorText;
import outbox.spi.PrintableText;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * What became of a message, and whose fault a failure is.
 *
 * @param delay how long to wait before the next try, at least
 * @param reason of the failure; empty without one
 */
record Outcome(Kind kind, Duration delay, String reason) {

    enum Kind {
        HANDLED,
        /** It was handled before. */
        DUPLICATE,
        /** To be tried again, and the failure counts. */
        FAILED,
        /** To be tried again, through no fault of the message. */
        PUT_OFF,
        /** It can never be handled. */
        DEAD
    }

    private static final List<String> PASSING = List.of("08", "40", "53", "55", "57", "58", "HYT");
    private static final Set<String> OF_THE_HANDLER =
            Set.of("40002", "55000", "57014"); // constraint at the commit, wrong state, took too long
    private static final int MYSQL_LOCK_WAIT_TIMEOUT = 1205; // with the SQLState of a general error
    private static final int MAX_CAUSES = 20; // a chain of causes may be a cycle
    private static final int MAX_REASON = 1000; // headers must fit into one frame

    static Outcome handled(boolean isFirst) {
        return new Outcome(isFirst ? Kind.HANDLED : Kind.DUPLICATE, Duration.ZERO, "");
    }

    /** @param hasBegun whether the handler began to run: what failed before is no fault of the message, except for its id and type */
    static Outcome of(Throwable failure, boolean hasBegun) {
        if (failure instanceof InterruptedException) {
            Thread.currentThread().interrupt();
            return of(Kind.PUT_OFF, failure);
        }
        if (failure instanceof RetryLaterException later) {
            return new Outcome(later.isCounted() ? Kind.FAILED : Kind.PUT_OFF, later.delay(), reason(failure));
        }
        if (failure instanceof GiveUpException) {
            return new Outcome(Kind.DEAD, Duration.ZERO, cut(String.valueOf(failure.getMessage())));
        }
        if (failure instanceof IllegalArgumentException && !hasBegun) { // the inbox cannot remember such an event
            return of(Kind.DEAD, failure);
        }
        boolean isOfOthers = !hasBegun || failure instanceof InboxException || isOfDatabase(failure);
        return of(isOfOthers ? Kind.PUT_OFF : Kind.FAILED, failure);
    }

    /** Of a message that nobody could read, or that has no handler. */
    static Outcome unread(Throwable failure) {
        return of(failure, true);
    }

    /** Connection, conflict, resources, locks, intervention: what passes by itself. An error without a state may be the handler's own. */
    private static boolean isOfDatabase(Throwable failure) {
        SQLException sql = sqlCause(failure);
        if (sql == null) {
            return false;
        }
        String state = sql.getSQLState() == null ? "" : sql.getSQLState();
        return PASSING.stream().anyMatch(state::startsWith) && !OF_THE_HANDLER.contains(state)
                || sql.getErrorCode() == MYSQL_LOCK_WAIT_TIMEOUT
                || sql instanceof SQLTransientConnectionException
                || sql instanceof SQLNonTransientConnectionException
                || sql instanceof SQLRecoverableException;
    }

    private static @Nullable SQLException sqlCause(Throwable failure) {
        Throwable cause = failure;
        for (int i = 0; i < MAX_CAUSES && cause != null; i++, cause = cause.getCause()) {
            if (cause instanceof SQLException sql) {
                return sql;
            }
        }
        return null;
    }

    private static Outcome of(Kind kind, Throwable failure) {
        return new Outcome(kind, Duration.ZERO, reason(failure));
    }

    Outcome deadAfter(int redeliveries) {
        return new Outcome(Kind.DEAD, Duration.ZERO, cut("Failed after " + redeliveries + " redeliveries: " + reason));
    }

    private static String reason(Throwable failure) {
        return cut(ErrorText.of(failure));
    }

    private static String cut(String text) {
        String clean = PrintableText.of(ErrorText.clean(text));
        return clean.length() <= MAX_REASON
                ? clean
                : clean.substring(0, clean.offsetByCodePoints(0, clean.codePointCount(0, MAX_REASON)));
    }
}
