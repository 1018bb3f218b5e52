package outbox.testing.fault;

import outbox.testing.fault.FaultyDataSource.Call;
import outbox.testing.fault.FaultyDataSource.Fault;

import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * The faults to inject into calls of a data source. Threads: tests add faults; every thread that uses a connection
 * applies them.
 */
final class FaultScript {
    private final List<Rule> rules = new CopyOnWriteArrayList<>();
    // written by tests, read by all threads
    private volatile UnaryOperator<String> rewrite = UnaryOperator.identity();

    interface SqlSupplier<T> {
        T get() throws SQLException;
    }

    Fault add(Rule rule) {
        rules.add(rule);
        return rule;
    }

    void rewriteSql(UnaryOperator<String> value) {
        rewrite = value;
    }

    String rewrite(String sql) {
        return rewrite.apply(sql);
    }

    void clear() {
        rules.clear();
        rewrite = UnaryOperator.identity();
    }

    void before(Call call) throws SQLException {
        play(call, false);
    }

    void after(Call call) throws SQLException {
        play(call, true);
    }

    private void play(Call call, boolean afterEffect) throws SQLException {
        for (var rule : rules) {
            if (rule.afterEffect == afterEffect && rule.isDue(call)) {
                throw rule.exception.get();
            }
        }
    }

    /** One fault. It happens once. */
    static final class Rule implements Fault {
        private final Predicate<Call> calls;
        private final Supplier<? extends SQLException> exception;
        private final boolean afterEffect;
        private final AtomicInteger remaining;

        Rule(int nth, Predicate<Call> calls, Supplier<? extends SQLException> exception, boolean afterEffect) {
            if (nth < 1) {
                throw new IllegalArgumentException("Calls are counted from 1, not from " + nth);
            }
            this.calls = calls;
            this.exception = exception;
            this.afterEffect = afterEffect;
            remaining = new AtomicInteger(nth);
        }

        @Override
        public boolean happened() {
            return remaining.get() <= 0;
        }

        /** Counts the call if it matches. Returns true for the one call that must fail. */
        private boolean isDue(Call call) {
            return !happened() && calls.test(call) && remaining.decrementAndGet() == 0;
        }
    }
}
