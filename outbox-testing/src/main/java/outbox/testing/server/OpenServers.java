package outbox.testing.server;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The servers that are still open. A shutdown hook stops them. */
final class OpenServers {
    private static final Logger LOG = System.getLogger(OpenServers.class.getName());
    private static final Set<TestServer> OPEN = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(OpenServers::stopAll, "outbox-servers-stop"));
    }

    private OpenServers() {}

    static <S extends TestServer> S add(S server) {
        OPEN.add(server);
        return server;
    }

    static void remove(TestServer server) {
        OPEN.remove(server);
    }

    private static void stopAll() {
        for (var server : OPEN) {
            try {
                server.stop();
            } catch (RuntimeException e) {
                LOG.log(Level.WARNING, "A test server could not be stopped: " + server, e);
            }
        }
    }
}
