package outbox.testing.fault;

import org.jspecify.annotations.Nullable;
import outbox.testing.fault.FaultProxy.Direction;
import outbox.testing.fault.Trap.LookOut;
import outbox.testing.fault.Trap.Verdict;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

/**
 * A client connection of a proxy, its connection to the server, and the two threads that copy bytes between them.
 */
final class ProxiedConnection {
    private static final Logger LOG = System.getLogger(ProxiedConnection.class.getName());
    private static final int CONNECT_MILLIS = 5_000;
    private static final int CHUNK = 16 * 1024;

    private final Faults faults;
    private final Socket client;
    private final Socket server = new Socket();
    private final Consumer<ProxiedConnection> onEnd;
    private final AtomicInteger pumps = new AtomicInteger(2);
    private volatile boolean cut; // set once by any thread, read by both pumps
    private @Nullable Trap trap; // guarded by this
    private @Nullable LookOut lookOut; // guarded by this; created by trap

    ProxiedConnection(Faults faults, Socket client, Consumer<ProxiedConnection> onEnd) {
        this.faults = faults;
        this.client = client;
        this.onEnd = onEnd;
    }

    void start(InetSocketAddress target) {
        startThread("in", () -> {
            if (connect(target)) {
                startThread("out", () -> pump(Direction.TO_CLIENT, server, client));
                pump(Direction.TO_SERVER, client, server);
            } else {
                onEnd.accept(this);
            }
        });
    }

    /** Resets the connection on both sides. Bytes that are still in transit are lost. */
    void cut() {
        cut = true;
        reset(client);
        reset(server);
        faults.wake();
    }

    /** Closes a socket with a reset instead of an orderly close. */
    static void reset(Socket socket) {
        try {
            socket.setSoLinger(true, 0);
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "The socket was closed already", e);
        }
        close(socket);
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            LOG.log(Level.WARNING, "A socket of the proxy cannot be closed", e);
        }
    }

    private void startThread(String role, Runnable work) {
        var thread = new Thread(work, "outbox-proxy-" + client.getPort() + "-" + role);
        thread.setDaemon(true);
        thread.start();
    }

    private boolean connect(InetSocketAddress target) {
        try {
            server.connect(target, CONNECT_MILLIS);
            server.setTcpNoDelay(true);
            client.setTcpNoDelay(true);
            return true;
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "No connection to the server, so none for its client", e);
            cut();
            return false;
        }
    }

    private void pump(Direction direction, Socket from, Socket to) {
        try {
            copy(direction, from, to);
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "A side of the connection is gone, so the other goes too", e);
            cut();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            cut();
        } finally {
            if (pumps.decrementAndGet() == 0) {
                close(client);
                close(server);
                onEnd.accept(this);
            }
        }
    }

    private void copy(Direction direction, Socket from, Socket to) throws IOException, InterruptedException {
        var input = from.getInputStream();
        var bytes = new byte[CHUNK];
        for (int length = input.read(bytes); length >= 0; length = input.read(bytes)) {
            faults.hold(direction, () -> cut);
            if (!faults.isSwallowed(direction)) {
                pass(direction, bytes, length, to);
            }
        }
        // a blocked direction also delays the end of the stream
        faults.hold(direction, () -> cut);
        to.shutdownOutput();
    }

    private void pass(Direction direction, byte[] bytes, int length, Socket to) throws IOException {
        var armed = faults.trap();
        var verdict = armed == null ? Verdict.pass(length) : lookOut(armed).judge(direction, bytes, length);
        to.getOutputStream().write(bytes, 0, verdict.bytes());
        if (armed != null && verdict.cut()) {
            cut();
            armed.sprung().complete(null);
        }
    }

    private synchronized LookOut lookOut(Trap armed) {
        if (lookOut == null || trap != armed) {
            trap = armed;
            lookOut = armed.lookOut();
        }
        return lookOut;
    }
}
