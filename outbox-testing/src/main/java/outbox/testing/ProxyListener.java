package outbox.testing;

import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The port of a proxy and the connections that came in through it. Any thread may call any method. */
final class ProxyListener {
    private static final Logger LOG = System.getLogger(ProxyListener.class.getName());
    private static final int MOST_CONNECTIONS = 256;

    private final InetSocketAddress target;
    private final Faults faults;
    private final int port = Loopback.freePort();
    private final Set<ProxiedConnection> open = ConcurrentHashMap.newKeySet(); // grows under this only
    private @Nullable ServerSocket socket; // guarded by this; null while down
    private boolean closed; // guarded by this

    ProxyListener(InetSocketAddress target, Faults faults) {
        this.target = target;
        this.faults = faults;
    }

    int port() {
        return port;
    }

    int connections() {
        return open.size();
    }

    synchronized void up() {
        if (closed) {
            throw new IllegalStateException("The proxy on port " + port + " is closed");
        }
        if (socket == null) {
            var bound = listen();
            socket = bound;
            var acceptor = new Thread(() -> accept(bound), "outbox-proxy-" + port + "-accept");
            acceptor.setDaemon(true);
            acceptor.start();
        }
    }

    synchronized void down() {
        if (socket != null) {
            close(socket);
            socket = null;
        }
        cutAll();
    }

    synchronized void close() {
        closed = true;
        down();
    }

    void cutAll() {
        open.forEach(ProxiedConnection::cut);
    }

    private ServerSocket listen() {
        try {
            var bound = new ServerSocket();
            bound.setReuseAddress(true); // earlier connections may linger in the system
            bound.bind(Loopback.address(port), MOST_CONNECTIONS); // a pool may open all of them at once
            return bound;
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot listen on port " + port, e);
        }
    }

    private void accept(ServerSocket bound) {
        try {
            while (true) {
                admit(bound, bound.accept());
            }
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "The proxy on port " + port + " went down", e);
        }
    }

    private synchronized void admit(ServerSocket bound, Socket client) {
        if (bound != socket) {
            ProxiedConnection.reset(client); // accepted while it went down
        } else if (open.size() >= MOST_CONNECTIONS) {
            LOG.log(Level.WARNING, "The proxy on port {0} resets a client beyond {1}", port, MOST_CONNECTIONS);
            ProxiedConnection.reset(client);
        } else {
            var connection = new ProxiedConnection(faults, client, open::remove);
            open.add(connection);
            connection.start(target);
        }
    }

    private static void close(ServerSocket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot close the port of the proxy", e);
        }
    }
}
