package outbox.testing.fault;

import org.jspecify.annotations.Nullable;
import outbox.testing.internal.Interrupted;
import outbox.testing.internal.Loopback;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The port of a proxy and its client connections. Any thread may call any method. */
final class ProxyListener {
    private static final Logger LOG = System.getLogger(ProxyListener.class.getName());
    private static final int MOST_CONNECTIONS = 256;
    private static final long END_MILLIS = 10_000;

    private final InetSocketAddress target;
    private final Faults faults;
    private final int port = Loopback.freePort();
    private final Set<ProxiedConnection> open = ConcurrentHashMap.newKeySet(); // only the acceptor adds connections
    private @Nullable Acceptor acceptor; // guarded by this; null while down
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
        if (acceptor == null) {
            acceptor = new Acceptor(listen());
            acceptor.start();
        }
    }

    synchronized void down() {
        if (acceptor != null) {
            acceptor.end();
            acceptor = null;
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
            bound.setReuseAddress(true); // old connections may still be in TIME_WAIT
            // the backlog must be large enough, because a pool may open all connections at once
            bound.bind(Loopback.address(port), MOST_CONNECTIONS);
            return bound;
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot listen on port " + port, e);
        }
    }

    /**
     * Accepts clients. It does not take the lock of the listener, because {@code down} holds that lock while it
     * waits for this thread to end.
     */
    private final class Acceptor extends Thread {
        private final ServerSocket socket;

        Acceptor(ServerSocket socket) {
            super("outbox-proxy-" + port + "-accept");
            this.socket = socket;
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                while (true) {
                    admit(socket.accept());
                }
            } catch (IOException e) {
                LOG.log(Level.DEBUG, "The proxy on port " + port + " went down", e);
            }
        }

        /**
         * Closes the port and waits until this thread has ended. Until then, the system may still accept a client
         * for the blocked {@code accept} call.
         */
        void end() {
            try {
                socket.close();
                join(END_MILLIS);
            } catch (IOException e) {
                throw new UncheckedIOException("Cannot close the port of the proxy", e);
            } catch (InterruptedException e) {
                throw Interrupted.during("taking the proxy down", e);
            }
        }

        private void admit(Socket client) {
            if (open.size() >= MOST_CONNECTIONS) {
                LOG.log(Level.WARNING, "The proxy on port {0} resets a client beyond {1}", port, MOST_CONNECTIONS);
                ProxiedConnection.reset(client);
            } else {
                var connection = new ProxiedConnection(faults, client, open::remove);
                open.add(connection);
                connection.start(target);
            }
        }
    }
}
