package outbox.internal;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import outbox.OutboxException;

import java.sql.SQLException;

import static org.assertj.core.api.Assertions.assertThat;

class SqlErrorsTest {

    /** SQLState and vendor code as servers and drivers report them. */
    @ParameterizedTest
    @CsvSource({
        "25006, 0", // PostgreSQL, read-only
        "25006, 1792", // MySQL, read-only transaction
        "HY000, 1290", // MySQL, read-only server
        "HY000, 1836",
        "28P01, 0", // wrong password
        "28000, 1045",
        "42000, 1142", // no privilege on the table
        "42000, 1143",
        "42000, 1049", // no such database
        "3D000, 0",
        "42P01, 0", // no such table
        "42S02, 1146",
        "42S02, 42102",
        "57014, 0", // statement timeout
        "53300, 0",
        "08006, 0",
        "40001, 0",
        "55P03, 0", // locked
        "HYT00, 50200",
        "40001, 1205",
        "HY000, 3572"
    })
    void what_may_pass_is_no_refusal(String state, int code) {
        assertThat(SqlErrors.isRefusal(error(state, code))).isFalse();
        assertThat(SqlErrors.isDataError(error(state, code))).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"22001, 0", "22021, 0", "22P05, 0", "22001, 22001", "HY000, 1366", "22001, 1406", "HY000, 3988"})
    void a_value_that_cannot_be_stored_is_a_data_error(String state, int code) {
        assertThat(SqlErrors.isDataError(error(state, code))).isTrue();
        assertThat(SqlErrors.isRefusal(error(state, code))).isTrue();
    }

    @ParameterizedTest
    @CsvSource({"P0001, 0", "45000, 1644", "42501, 0", "23514, 0", "HY000, 4025"})
    void a_trigger_a_policy_or_a_constraint_refuses_and_it_is_not_about_a_value(String state, int code) {
        assertThat(SqlErrors.isRefusal(error(state, code))).isTrue();
        assertThat(SqlErrors.isDataError(error(state, code))).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"55P03, 0", "HYT00, 50200", "40001, 1205", "HY000, 1205", "HY000, 3572"})
    void a_locked_row_is_told_from_other_trouble(String state, int code) {
        assertThat(SqlErrors.isLocked(error(state, code))).isTrue();
    }

    @Test
    void a_deadlock_is_no_locked_row() {
        assertThat(SqlErrors.isLocked(error("40001", 1213))).isFalse();
        assertThat(SqlErrors.isConflict(error("40001", 1213))).isTrue();
    }

    private static OutboxException error(String state, int code) {
        return new OutboxException("failed", new SQLException("failed", state, code));
    }
}
