package outbox.http;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * A server that reads the headers and the body of a request and then sends the given bytes, even if they are not
 * HTTP. One thread per connection.
 */
final class RawServer implements AutoCloseable {

    interface Talk {
        void with(OutputStream client) throws IOException;
    }

    final CountDownLatch hungUp = new CountDownLatch(1); // a client closed its connection, or a write to it failed
    private final ServerSocket socket = new ServerSocket();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Socket> clients = new CopyOnWriteArrayList<>();

    RawServer(Talk talk) throws IOException {
        socket.bind(Receiver.address(0));
        threads.execute(() -> accept(talk));
    }

    static Talk says(String text) {
        return client -> client.write(text.getBytes(StandardCharsets.ISO_8859_1));
    }

    private void accept(Talk talk) {
        while (!socket.isClosed()) {
            try {
                Socket client = socket.accept();
                clients.add(client);
                threads.execute(() -> serve(client, talk));
            } catch (IOException e) {
                return; // closed
            }
        }
    }

    private void serve(Socket client, Talk talk) {
        try (client) {
            InputStream in = client.getInputStream();
            readRequest(in);
            talk.with(client.getOutputStream());
            client.getOutputStream().flush();
        } catch (IOException e) {
            hungUp.countDown();
        }
    }

    private static void readRequest(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int c = in.read();
            if (c < 0) {
                throw new IOException("no request");
            }
            head.append((char) c);
        }
        String lower = head.toString().toLowerCase(Locale.ROOT);
        int at = lower.indexOf("content-length:");
        int length = Integer.parseInt(
                lower.substring(at + 15, lower.indexOf("\r\n", at)).strip());
        in.readNBytes(length);
    }

    URI uri() {
        return URI.create("http://127.0.0.1:" + socket.getLocalPort() + "/");
    }

    @Override
    public void close() throws IOException {
        socket.close();
        for (Socket client : clients) {
            client.close();
        }
        threads.shutdownNow();
    }
}
