package outbox.rabbitmq;

import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.Socket;

/**
 * The socket of one connection. Any thread may close it immediately, even while another thread is blocked in a write.
 */
final class CuttableSocket {

    private volatile @Nullable Socket socket; // written by the connecting thread
    private volatile boolean cut;

    /** Returns a copy of the factory that keeps the socket of its next connection here. It must use blocking I/O. */
    ConnectionFactory factory(ConnectionFactory given) {
        ConnectionFactory own = given.clone();
        own.setSocketConfigurator(given.getSocketConfigurator().andThen(opened -> socket = opened));
        return own;
    }

    /** Closes the socket. Does not use the streams, because a blocked writer holds their lock. */
    void cut() throws IOException {
        cut = true;
        Socket current = socket;
        if (current == null || current.isClosed()) {
            return;
        }
        try {
            current.setSoLinger(true, 0); // otherwise the TLS shutdown waits for the blocked writer
        } finally {
            current.close();
        }
    }

    boolean isCut() {
        return cut;
    }
}
