package outbox.reconcile;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

/** Ids that follow from what they are for: a UUID of version 8, from the SHA-256 of the job and the key of the fact. They are in tables of users, so they must never come out differently. */
final class EventIds {

    private EventIds() {}

    static String of(String job, String key) {
        byte[] name = ("outbox-reconcile\n" + job + "\n" + key).getBytes(StandardCharsets.UTF_8);
        ByteBuffer hash = ByteBuffer.wrap(sha256(name));
        long high = hash.getLong() & ~0xF000L | 0x8000L; // the version
        long low = hash.getLong() & 0x3FFFFFFFFFFFFFFFL | 0x8000000000000000L; // the variant
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
