package outbox.jdbc.internal.leader;

import java.nio.charset.StandardCharsets;

/**
 * The 64-bit hash FNV-1a. It is the same on all machines and in all languages, so that all relay implementations use
 * the same lock for a table.
 */
final class Fnv1a {

    private static final long OFFSET = 0xcbf29ce484222325L;
    private static final long PRIME = 0x100000001b3L;

    private Fnv1a() {}

    static long hash(String text) {
        long hash = OFFSET;
        for (byte octet : text.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ (octet & 0xff)) * PRIME;
        }
        return hash;
    }
}
