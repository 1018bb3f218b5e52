package outbox.rabbitmq;

import com.rabbitmq.client.Channel;
import com.rabbitmq.client.Connection;
import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;
import outbox.spi.SafeLogger;

import java.io.IOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.net.Socket;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * One connection of a {@link CopyPublisher}, from its opening to its end, and what the broker said on it.
 *
 * <p>Threads: one thread opens it and publishes; any thread may ask and end it.
 */
final class CopyLine {

    private static final Logger LOG = SafeLogger.of(CopyLine.class);
    private static final int CLOSE_MILLIS = (int) TimeUnit.SECONDS.toMillis(1);

    private volatile @Nullable Socket socket; // publishing thread writes, before it connects
    private volatile @Nullable Connection connection; // publishing thread writes
    private volatile @Nullable Channel channel; // publishing thread writes
    private volatile @Nullable String blocked; // the client's thread writes: why, or null
    private volatile @Nullable String returned; // the client's thread writes, before it takes the confirm
    private volatile boolean isCut;
    private boolean isLate; // publishing thread only

    void open(ConnectionFactory factory, String name) throws IOException, TimeoutException {
        ConnectionFactory own = factory.clone();
        own.setSocketConfigurator(factory.getSocketConfigurator().andThen(opening -> {
            socket = opening; // before the look at isCut, so that a cut sees it or it sees the cut
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

    /** Whether more can be published by it. */
    boolean isUsable() {
        return isOpen() && !isLate;
    }

    /** A confirm is still due: it is not to be taken for that of a later copy, so there are none. */
    void late() {
        isLate = true;
    }

    /** Why the broker takes nothing; null if it does. */
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

    /** Ends it at once. Its streams are not touched: a thread that writes to a broker that does not read holds their lock. */
    void cut() {
        isCut = true;
        Socket open = socket;
        Connection last = connection;
        if (open == null) {
            if (last != null) {
                last.abort(CLOSE_MILLIS); // of a kind whose socket we do not get
            }
            return;
        }
        try {
            open.setSoLinger(true, 0); // what is not sent yet does not matter, nor does the good-bye of TLS
        } catch (IOException e) {
            LOG.log(Level.TRACE, "The connection has ended before", e);
        }
        try {
            open.close();
        } catch (IOException e) {
            LOG.log(Level.DEBUG, "The connection ended with an error", e);
        }
    }

    /** Ends it when nothing is under way. */
    void close() {
        Connection last = connection;
        if (last != null && last.isOpen() && blocked == null && !isLate) {
            last.abort(CLOSE_MILLIS);
        }
        cut();
    }
}
