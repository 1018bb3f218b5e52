package outbox.jdbc;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** A connection that records the plan of each statement, with its bound values, directly before it runs. */
final class PlanRecorder {

    private final Connection real;
    private final List<String> plans = new ArrayList<>();

    PlanRecorder(Connection real) {
        this.real = real;
    }

    List<String> plans() {
        return plans;
    }

    Connection connection() {
        return proxy(
                Connection.class,
                (proxy, method, args) -> method.getName().equals("prepareStatement")
                        ? statement((String) args[0])
                        : invoke(real, method, args));
    }

    private PreparedStatement statement(String sql) throws SQLException {
        PreparedStatement statement = real.prepareStatement(sql);
        int start = sql.lastIndexOf(';') + 1; // after the settings for the statement
        PreparedStatement explain = real.prepareStatement(sql.substring(0, start) + "EXPLAIN " + sql.substring(start));
        return proxy(PreparedStatement.class, (proxy, method, args) -> {
            String name = method.getName();
            if (name.startsWith("set") && args.length >= 2 && args[0] instanceof Integer) {
                invoke(explain, method, args);
            } else if (name.startsWith("execute")) {
                plans.add(sql.strip() + "\n" + read(explain));
            } else if (name.equals("close")) {
                explain.close();
            }
            return invoke(statement, method, args);
        });
    }

    private static String read(PreparedStatement explain) throws SQLException {
        StringBuilder plan = new StringBuilder();
        for (boolean answered = explain.execute(); !answered; ) {
            answered = explain.getMoreResults();
        }
        try (ResultSet rows = explain.getResultSet()) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                for (int i = 1; i <= columns; i++) {
                    plan.append(rows.getString(i)).append(" | ");
                }
                plan.append('\n');
            }
        }
        return plan.toString();
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    private static Object invoke(Object target, Method method, Object[] args) throws Throwable {
        try {
            return method.invoke(target, args);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
