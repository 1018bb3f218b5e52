package outbox.jdbc.internal.sql;

import org.jspecify.annotations.Nullable;

import java.lang.reflect.Method;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Optional;

/** Accesses a setting of the driver's statement class without a dependency on the driver. */
public final class PostgresStatement {

    private static final ClassValue<Optional<Method>> PREPARE_THRESHOLD = new ClassValue<>() {
        @Override
        protected Optional<Method> computeValue(Class<?> driverStatement) {
            try {
                Class<?> ours = find(driverStatement, "org.postgresql.PGStatement");
                return ours == null ? Optional.empty() : Optional.of(ours.getMethod("setPrepareThreshold", int.class));
            } catch (NoSuchMethodException e) {
                return Optional.empty();
            }
        }
    };

    private PostgresStatement() {}

    /** Prevents a server-side prepared statement. Has no effect with another driver. */
    public static void planEachTime(PreparedStatement statement) throws SQLException {
        if (!statement.isWrapperFor(PreparedStatement.class)) {
            return;
        }
        PreparedStatement physical = statement.unwrap(PreparedStatement.class);
        Optional<Method> setter = PREPARE_THRESHOLD.get(physical.getClass());
        if (setter.isPresent()) {
            try {
                setter.get().invoke(physical, 0);
            } catch (ReflectiveOperationException e) {
                return; // the failure only affects performance
            }
        }
    }

    /** Finds the public interface, because the implementing class is not accessible from outside. */
    private static @Nullable Class<?> find(Class<?> type, String name) {
        for (Class<?> level = type; level != null; level = level.getSuperclass()) {
            for (Class<?> candidate : level.getInterfaces()) {
                Class<?> found = candidate.getName().equals(name) ? candidate : find(candidate, name);
                if (found != null) {
                    return found;
                }
            }
        }
        return null;
    }
}
