package outbox.reconcile;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

/**
 * Derives event ids from the job and the key of the fact: a UUID of version 8 with bits of their SHA-256 hash. The
 * ids are stored in tables of users, so the algorithm must never change.
 */
final class EventIds {

    private EventIds() {}

    static String of(String job, String key) {
        byte[] name = ("outbox-reconcile\n" + job + "\n" + key).getBytes(StandardCharsets.UTF_8);
        ByteBuffer hash = ByteBuffer.wrap(sha256(name));
        long high = hash.getLong() & ~0xF000L | 0x8000L; // version 8
        long low = hash.getLong() & 0x3FFFFFFFFFFFFFFFL | 0x8000000000000000L; // variant of RFC 9562
        return new UUID(high, low).toString();
    }

    private static byte[] sha256(byte[] name) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(name);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("Every Java platform has SHA-256", e);
        }
    }
}
