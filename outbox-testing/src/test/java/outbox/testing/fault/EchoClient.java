package outbox.testing.fault;

import outbox.testing.internal.Loopback;

import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** A socket that sends and receives text. */
final class EchoClient implements AutoCloseable {
    private final Socket socket = new Socket();

    EchoClient(int port) throws IOException {
        socket.connect(Loopback.address(port), 5_000);
        socket.setSoTimeout(10_000);
    }

    EchoClient patience(int millis) throws IOException {
        socket.setSoTimeout(millis);
        return this;
    }

    void send(String text) throws IOException {
        socket.getOutputStream().write(text.getBytes(StandardCharsets.US_ASCII));
    }

    /** Receives so many characters, fewer if the connection ends before. */
    String receive(int length) throws IOException {
        return new String(socket.getInputStream().readNBytes(length), StandardCharsets.US_ASCII);
    }

    String exchange(String text) throws IOException {
        send(text);
        return receive(text.length());
    }

    void finish() throws IOException {
        socket.shutdownOutput();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
