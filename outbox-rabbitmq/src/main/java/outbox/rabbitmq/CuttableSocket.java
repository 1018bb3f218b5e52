package outbox.rabbitmq;

import com.rabbitmq.client.ConnectionFactory;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.net.Socket;

/** The socket of one connection, which any thread may close at once, also while another waits in a write to a broker that does not read. */
final class CuttableSocket {

    private volatile @Nullable Socket socket; // written by the thread that connects
    private volatile boolean cut;

    /** A copy of the factory whose next connection is this one. It must use blocking I/O. */
    ConnectionFactory factory(ConnectionFactory given) {
        ConnectionFactory own = given.clone();
        own.setSocketConfigurator(given.getSocketConfigurator().andThen(opened -> socket = opened));
        return own;
    }

    /** Its streams are not touched: who writes holds their lock. */
    void cut() throws IOException {
        cut = true;
        Socket current = socket;
        if (current == null || current.isClosed()) {
            return;
        }
        try {
            current.setSoLinger(true, 0); // TLS would wait for the writer, to say good-bye; and nothing is left to send
        } finally {
            current.close();
        }
    }

    boolean isCut() {
        return cut;
    }
}
