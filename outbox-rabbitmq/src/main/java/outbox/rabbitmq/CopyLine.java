package outbox.rabbitmq;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.internal.text.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One connection of a {@link CopyPublisher}, from open to close, with the last replies of the broker.
 *
 * <p>Threads: one thread opens it and publishes. Any thread may read its state and close it.
 */
final class CopyLine {

    private static final Logger LOG = SafeLogger.of(CopyLine.class);
    private static final int CLOSE_MILLIS = (int) TimeUnit.SECONDS.toMillis(1);

    private volatile @Nullable Socket socket; // written by the publishing thread before it connects
    private volatile @Nullable Connection connection; // written by the publishing thread
    private volatile @Nullable Channel channel; // written by the publishing thread
    private volatile @Nullable String blocked; // written by the client's thread: the reason, or null
    private volatile @Nullable String returned; // written by the client's thread before it processes the confirm
    private volatile boolean isCut;
    private boolean isLate; // publishing thread only

    void open(ConnectionFactory factory, String name) throws IOException, TimeoutException {
        ConnectionFactory own = factory.clone();
        own.setSocketConfigurator(factory.getSocketConfigurator().andThen(opening -> {
            socket = opening; // before isCut is read: either cut() sees the socket or this code sees the cut
            if (isCut) {
                throw new IOException("closed");
            }
        }));
        Connection opened = own.newConnection(name);
        connection = opened;
        opened.addBlockedListener(reason -> blocked = String.valueOf(reason), () -> blocked = null);
        Channel fresh = opened.createChannel();
        if (fresh == null) {
            throw new IOException("The connection has no channel left");
        }
        fresh.confirmSelect();
        fresh.addReturnListener(message -> returned = message.getReplyText());
        channel = fresh;
    }

    Channel channel() throws IOException {
        Channel open = channel;
        if (open == null) {
            throw new IOException("The connection is not open");
        }
        return open;
    }

    private boolean isOpen() {
        Channel known = channel;
        return known != null && known.isOpen() && !isCut;
    }

    /** Whether further copies can be published on this connection. */
    boolean isUsable() {
        return isOpen() && !isLate;
    }

    /**
     * Notes that a confirm is still missing. No further copy uses this connection, because the late confirm could be
     * taken for that of the next copy.
     */
    void late() {
        isLate = true;
    }

    /** Returns why the broker blocks this connection, or null if it does not. */
    @Nullable
    String blocked() {
        return isOpen() ? blocked : null;
    }

    void expect() {
        returned = null;
    }

    @Nullable
    String returned() {
        return returned;
    }

    /**
     * Closes the socket immediately. Does not use the streams: a thread that writes to a broker that does not read
     * holds their lock.
     */
    void cut() {
        isCut = true;
        Socket open = socket;
        Connection last = connection;
        if (open == null) {
            if (last != null) {
                last.abort(CLOSE_MILLIS); // the socket is not accessible
            }
            return;
        }
        try {
            open.setSoLinger(true, 0); // discard unsent data and skip the TLS shutdown
        } catch (IOException e) {
            LOG.log(Level.TRACE, "The connection was already closed", e);
        }
        try {
            open.close();
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "The connection ended with an error", e);
        }
    }

    /** Closes the connection when no publish is in progress. */
    void close() {
        Connection last = connection;
        if (last != null && last.isOpen() && blocked == null && !isLate) {
            last.abort(CLOSE_MILLIS);
        }
        cut();
    }
}
