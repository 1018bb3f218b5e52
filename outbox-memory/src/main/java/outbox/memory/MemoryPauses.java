package outbox.memory;

import outbox.admin.EventPauses;
import outbox.admin.Pause;

import java.sql.Connection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Pauses in memory, at most {@value #MAX_PAUSES}. Thread-safe. */
final class MemoryPauses implements EventPauses {

    private static final int MAX_PAUSES = 10_000;

    private record What(Pause.Scope scope, String name) {}

    private final MemoryWork work;
    private final Map<What, Pause> pauses = new LinkedHashMap<>(); // guarded by the lock of the table

    MemoryPauses(MemoryWork work) {
        this.work = work;
    }

    @Override
    public boolean hasPauses(Connection conn) {
        return true;
    }

    @Override
    public List<Pause> pauses(Connection conn) {
        return work.in(conn, tx -> List.copyOf(pauses.values()));
    }

    @Override
    public boolean pause(Connection conn, Pause pause) {
        What what = new What(pause.scope(), pause.name());
        return work.in(conn, tx -> {
            if (pauses.size() >= MAX_PAUSES || pauses.putIfAbsent(what, pause) != null) {
                return false;
            }
            tx.add(() -> pauses.remove(what));
            return true;
        });
    }

    @Override
    public boolean resume(Connection conn, Pause.Scope scope, String name) {
        What what = new What(scope, name);
        return work.in(conn, tx -> {
            Pause ended = pauses.remove(what);
            if (ended == null) {
                return false;
            }
            tx.add(() -> pauses.put(what, ended));
            return true;
        });
    }
}
