package outbox.testing;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;

/** The address and the ports that everything here listens on. */
final class Loopback {
    /** By number, since the JDK can be set to prefer the other protocol, where our servers do not listen. */
    static final String HOST = "127.0.0.1";

    private static final int LOWEST = 15_000;
    private static final int HIGHEST = 32_000;
    private static final int TRIES = 100;
    private static final Set<Integer> GIVEN =
            ConcurrentHashMap.newKeySet(); // who asks for several listens on them later

    private Loopback() {}

    @SuppressWarnings("AddressSelection") // it is a number, so there is nothing to look up
    static InetSocketAddress address(int port) {
        return new InetSocketAddress(HOST, port);
    }

    /**
     * Finds a port that is likely to stay free while nobody listens on it. Linux gives the ports from 32768 on to
     * outgoing connections, so one of those can be gone when a killed server wants it back; these lie below. No port
     * is given twice by a process.
     */
    static int freePort() {
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
