package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import outbox.EventEnvelope;
import outbox.internal.SqlErrors;
import outbox.model.EventStatus;
import outbox.spi.Claim;
import outbox.spi.Mark;
import outbox.testing.contract.StoreFixture;

import java.sql.SQLException;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * A table that cannot hold every error text. The text is dropped, but the outcome is written, and no other event
 * is affected.
 */
@Timeout(60)
@Tag("mariadb")
@Tag("mysql")
class NarrowTableTest {

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"MARIADB", "MYSQL"})
    void an_error_text_that_the_charset_cannot_hold_is_replaced(Databases database) throws SQLException {
        List<String> latin1 = List.of(
                SpecificationTable.TEXT.get(0).replace("last_error TEXT", "last_error TEXT CHARACTER SET latin1"),
                SpecificationTable.INDEX);

        deadWithText(database.fixture(latin1, false), "The error text could not be stored; see the log of the node");
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"MARIADB", "MYSQL"})
    void an_error_text_for_which_there_is_no_room_at_all_is_left_out(Databases database) throws SQLException {
        List<String> narrow = List.of(
                SpecificationTable.TEXT.get(0).replace("last_error TEXT", "last_error VARCHAR(3) CHARACTER SET latin1"),
                SpecificationTable.INDEX);

        deadWithText(database.fixture(narrow, false), "");
    }

    @ParameterizedTest
    @EnumSource(
            value = Databases.class,
            names = {"MARIADB", "MYSQL"})
    void one_text_of_a_group_that_the_charset_cannot_hold_is_a_refusal_of_the_group(Databases database)
            throws SQLException {
        List<String> latin1 = List.of(
                SpecificationTable.TEXT.get(0).replace("last_error TEXT", "last_error TEXT CHARACTER SET latin1"),
                SpecificationTable.INDEX);
        StoreFixture db = database.fixture(latin1, false);
        List<EventEnvelope> events = List.of(
                EventEnvelope.ofJson("T", "{}"), EventEnvelope.ofJson("T", "{}"), EventEnvelope.ofJson("T", "{}"));
        db.inTransaction(connection -> db.store().insertAll(connection, events, new Claim("ours", Long.MAX_VALUE)));
        List<Mark> marks = List.of(
                Mark.dead(events.get(0).eventId(), "ours", true, "fine"),
                Mark.dead(events.get(1).eventId(), "ours", true, "支付失败"),
                Mark.dead(events.get(2).eventId(), "ours", true, "fine"));

        assertThatThrownBy(() -> db.inTransaction(connection ->
                        db.store().mark(connection, marks, db.store().now(connection))))
                .matches(SqlErrors::isRefusal);

        assertThat(db.count("status = 0 AND locked_by = 'ours'")).isEqualTo(3);
    }

    private static void deadWithText(StoreFixture db, String text) {
        try (Node node = new Node(db.dataSource(), db.store(), d -> d.maxAttempts(1), p -> {})) {
            node.listener = event -> {
                if (event.eventType().equals("Bad")) {
                    throw new IllegalStateException("支付失败");
                }
            };
            EventEnvelope bad = node.write(node.writer, EventEnvelope.ofJson("Bad", "{}"));
            EventEnvelope good = node.write("{}");

            await().until(() -> db.row(good.eventId()).status() == EventStatus.DONE);
            await().until(() -> db.row(bad.eventId()).status() == EventStatus.DEAD);
            assertThat(db.row(bad.eventId()).lastError()).isEqualTo(text);
        }
    }
}
