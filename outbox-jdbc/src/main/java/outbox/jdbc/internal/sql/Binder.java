package outbox.jdbc.internal.sql;

import org.jspecify.annotations.Nullable;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Instant;
import java.util.Collection;

/** Binds the parameters of a statement in order, so that the code contains no parameter indexes. */
public final class Binder {

    private final PreparedStatement statement;
    private final TableColumns shape;
    private int index;

    public Binder(PreparedStatement statement, TableColumns shape) {
        this.statement = statement;
        this.shape = shape;
    }

    public Binder text(@Nullable String value) throws SQLException {
        statement.setString(++index, value);
        return this;
    }

    public Binder texts(Collection<String> values) throws SQLException {
        for (String value : values) {
            text(value);
        }
        return this;
    }

    public Binder number(int value) throws SQLException {
        statement.setInt(++index, value);
        return this;
    }

    public Binder number(long value) throws SQLException {
        statement.setLong(++index, value);
        return this;
    }

    public Binder smallNumber(@Nullable Integer value) throws SQLException {
        statement.setObject(++index, value, Types.SMALLINT);
        return this;
    }

    public Binder bigNumber(@Nullable Long value) throws SQLException {
        statement.setObject(++index, value, Types.BIGINT);
        return this;
    }

    public Binder bytes(byte @Nullable [] value) throws SQLException {
        statement.setBytes(++index, value);
        return this;
    }

    /** Binds a time with the type of the column that it is compared with or written to. */
    public Binder time(String column, @Nullable Instant value) throws SQLException {
        shape.bind(statement, ++index, column, value);
        return this;
    }

    /** Binds a time as seconds since 1970. It is exact to the microsecond for times near 1970. */
    public Binder seconds(Instant value) throws SQLException {
        statement.setDouble(++index, value.getEpochSecond() + value.getNano() / 1e9);
        return this;
    }

    /** Binds an array of strings as one parameter. */
    public Binder array(Collection<String> values) throws SQLException {
        return array("varchar", values);
    }

    /** Binds an array of values of the given SQL type as one parameter. */
    public Binder array(String type, Collection<?> values) throws SQLException {
        statement.setArray(++index, statement.getConnection().createArrayOf(type, values.toArray()));
        return this;
    }
}
