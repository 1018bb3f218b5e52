package outbox.rabbitmq;

import org.jspecify.annotations.Nullable;
import outbox.GiveUpException;
import outbox.RetryLaterException;
import outbox.inbox.InboxException;
import outbox.internal.text.PrintableText;
import outbox.spi.ErrorText;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Set;

/**
 * The result of handling a message.
 *
 * @param delay the minimum wait before the next attempt
 * @param reason of the failure; empty if there was none
 */
record Outcome(Kind kind, Duration delay, String reason) {

    enum Kind {
        HANDLED,
        /** The event was handled before. */
        DUPLICATE,
        /** Try again; the failure counts. */
        FAILED,
        /** Try again; the message did not cause the failure, so it does not count. */
        PUT_OFF,
        /** The message can never be handled. */
        DEAD
    }

    private static final List<String> PASSING = List.of("08", "40", "53", "55", "57", "58", "HYT");
    private static final Set<String> OF_THE_HANDLER =
            Set.of("40002", "55000", "57014"); // constraint violated at commit, wrong object state, query cancelled
    private static final int MYSQL_LOCK_WAIT_TIMEOUT = 1205; // its SQLState is that of a general error
    private static final int MAX_CAUSES = 20; // a chain of causes may be a cycle
    private static final int MAX_REASON = 1000; // headers must fit into one frame

    static Outcome handled(boolean isFirst) {
        return new Outcome(isFirst ? Kind.HANDLED : Kind.DUPLICATE, Duration.ZERO, "");
    }

    /**
     * Classifies a failure.
     *
     * @param hasBegun whether the handler was called. A failure before that was not caused by the message, except if
     *     the inbox refuses its id or type
     */
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
        if (failure instanceof IllegalArgumentException && !hasBegun) { // the inbox cannot store such an id or type
            return of(Kind.DEAD, failure);
        }
        boolean isOfOthers = !hasBegun || failure instanceof InboxException || isOfDatabase(failure);
        return of(isOfOthers ? Kind.PUT_OFF : Kind.FAILED, failure);
    }

    /** Classifies the failure of a message that cannot be parsed or has no handler. */
    static Outcome unread(Throwable failure) {
        return of(failure, true);
    }

    /**
     * Whether the database caused the failure in a way that passes by itself: connection, conflict, resources, locks,
     * operator intervention. An error without an SQLState may be caused by the handler.
     */
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
