package outbox.samples.course;

import org.h2.tools.TriggerAdapter;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Objects;

/** Records in table {@code claimed} which event is claimed with which token. */
public final class ClaimTrigger extends TriggerAdapter {

    @Override
    public void fire(Connection connection, ResultSet before, ResultSet after) throws SQLException {
        String token = after.getString("locked_by");
        if (token == null || Objects.equals(token, before.getString("locked_by"))) {
            return;
        }
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO claimed VALUES (?, ?)")) {
            insert.setString(1, token);
            insert.setString(2, after.getString("event_id"));
            insert.executeUpdate();
        }
    }
}
