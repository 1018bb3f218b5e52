package outbox.testing.internal;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** The address and the ports that proxies and test servers listen on. */
public final class Loopback {
    /** A numeric address: {@code localhost} may resolve to IPv6, where our servers do not listen. */
    public static final String HOST = "127.0.0.1";

    private static final int LOWEST = 15_000;
    private static final int HIGHEST = 32_000;
    private static final int TRIES = 100;
    // a caller may ask for several ports before it listens on the first one
    private static final Set<Integer> GIVEN = ConcurrentHashMap.newKeySet();

    private Loopback() {}

    @SuppressWarnings("AddressSelection") // a numeric address needs no lookup
    public static InetSocketAddress address(int port) {
        return new InetSocketAddress(HOST, port);
    }

    /**
     * Returns a free port that is likely to stay free until a server listens on it. Linux uses ports from 32768 for
     * outgoing connections, so such a port may be taken when a killed server restarts. The ports returned here are
     * lower. A process never gets the same port twice.
     */
    public static int freePort() {
        for (int i = 0; i < TRIES; i++) {
            int port = ThreadLocalRandom.current().nextInt(LOWEST, HIGHEST);
            if (isFree(port) && GIVEN.add(port)) {
                return port;
            }
        }
        throw new IllegalStateException("No free loopback port found between %d and %d".formatted(LOWEST, HIGHEST));
    }

    private static boolean isFree(int port) {
        try (var socket = new ServerSocket()) {
            socket.bind(address(port));
            return true;
        } catch (IOException e) {
            return false;
        }
    }
}
