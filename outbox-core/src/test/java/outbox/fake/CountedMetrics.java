package outbox.fake;

import outbox.spi.MetricsExporter;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Counts the calls of each method of an exporter, and keeps their last arguments. */
public final class CountedMetrics {

    private final Map<String, Integer> counts = new ConcurrentHashMap<>();
    private final Map<String, Object[]> last = new ConcurrentHashMap<>();
    private final Map<String, Runnable> actions = new ConcurrentHashMap<>();
    private final MetricsExporter exporter = (MetricsExporter) Proxy.newProxyInstance(
            CountedMetrics.class.getClassLoader(), new Class<?>[] {MetricsExporter.class}, (InvocationHandler)
                    (self, method, arguments) -> {
                        counts.merge(method.getName(), 1, Integer::sum);
                        last.put(method.getName(), arguments == null ? new Object[0] : arguments);
                        actions.getOrDefault(method.getName(), () -> {}).run();
                        return null;
                    });

    public MetricsExporter exporter() {
        return exporter;
    }

    /** Sets an action that the exporter runs on the caller's thread when the method is called. */
    public void on(String method, Runnable action) {
        actions.put(method, action);
    }

    public int count(String method) {
        return counts.getOrDefault(method, 0);
    }

    public Object[] last(String method) {
        return last.getOrDefault(method, new Object[0]);
    }
}
