package outbox.rabbitmq;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/** The part of AMQP 0-9-1 that a client needs to connect, from a broker without capabilities. */
final class BrokerWithoutConfirms implements AutoCloseable {
    private final ServerSocket listener = new ServerSocket();

    @SuppressWarnings("AddressSelection") // it is a number, so there is nothing to look up
    BrokerWithoutConfirms() throws IOException {
        listener.bind(new InetSocketAddress("127.0.0.1", 0));
        Thread thread = new Thread(this::serve, "broker-without-confirms");
        thread.setDaemon(true);
        thread.start();
    }

    int port() {
        return listener.getLocalPort();
    }

    private void serve() {
        try (Socket socket = listener.accept()) {
            var in = new DataInputStream(socket.getInputStream());
            var out = new DataOutputStream(socket.getOutputStream());
            in.readNBytes(8); // AMQP 0 0 9 1
            send(out, 10, start());
            skipFrame(in);
            send(out, 30, new byte[] {0, 0, 0, 2, 0, 0, 0, 0}); // tune: any channels, 128 KB frames, no heartbeat
            skipFrame(in);
            skipFrame(in);
            send(out, 41, new byte[] {0}); // open-ok
            skipFrame(in);
            send(out, 51, new byte[0]); // close-ok
        } catch (IOException e) {
            // The client disconnected, or the test ended.
        }
    }

    private static byte[] start() throws IOException {
        var bytes = new ByteArrayOutputStream();
        var out = new DataOutputStream(bytes);
        out.write(new byte[] {0, 9}); // version
        out.writeInt(0); // no server properties
        longString(out, "PLAIN");
        longString(out, "en_US");
        return bytes.toByteArray();
    }

    private static void longString(DataOutputStream out, String text) throws IOException {
        out.writeInt(text.length());
        out.write(text.getBytes(StandardCharsets.US_ASCII));
    }

    /** A method of class connection. */
    private static void send(DataOutputStream out, int method, byte[] arguments) throws IOException {
        out.write(1);
        out.writeShort(0);
        out.writeInt(4 + arguments.length);
        out.writeShort(10);
        out.writeShort(method);
        out.write(arguments);
        out.write(0xCE);
        out.flush();
    }

    private static void skipFrame(DataInputStream in) throws IOException {
        in.readNBytes(3);
        in.readNBytes(in.readInt() + 1);
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
