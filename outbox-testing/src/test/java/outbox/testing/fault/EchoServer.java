package outbox.testing.fault;

import outbox.testing.internal.Interrupted;
import outbox.testing.internal.Loopback;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Answers each byte with the same byte and remembers all that it received. */
final class EchoServer implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket();
    private final Queue<String> received = new ConcurrentLinkedQueue<>();

    private final Thread acceptor;

    EchoServer(int port) throws IOException {
        listener.bind(Loopback.address(port));
        acceptor = startThread(this::accept);
    }

    int port() {
        return listener.getLocalPort();
    }

    String received() {
        return String.join("", received);
    }

    @Override
    public void close() throws IOException {
        listener.close();
        try {
            acceptor.join(10_000); // until then the system still takes clients
        } catch (InterruptedException e) {
            throw Interrupted.during("closing the server", e);
        }
    }

    private void accept() {
        try {
            while (true) {
                var client = listener.accept();
                startThread(() -> echo(client));
            }
        } catch (IOException e) {
            if (!listener.isClosed()) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private void echo(Socket client) {
        var bytes = new byte[1024];
        try (client) {
            for (int length = client.getInputStream().read(bytes);
                    length >= 0;
                    length = client.getInputStream().read(bytes)) {
                received.add(new String(bytes, 0, length, StandardCharsets.US_ASCII));
                client.getOutputStream().write(bytes, 0, length);
            }
        } catch (IOException e) {
            received.add("[" + e.getMessage() + "]"); // a reset is what some tests want to see
        }
    }

    private static Thread startThread(Runnable work) {
        var thread = new Thread(work, "echo");
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
