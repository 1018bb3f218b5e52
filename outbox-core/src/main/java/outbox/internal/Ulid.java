package outbox.internal;

import java.security.SecureRandom;

/**
 * Monotonic ULIDs: 48 bits of time and 80 random bits, written as 26 characters. Ids created by one process sort in
 * the order of their creation, also within one millisecond and when the wall clock steps back. New ids are therefore
 * added at the end of an index.
 */
public final class Ulid {

    private static final char[] ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ".toCharArray();
    private static final Ulid SHARED = new Ulid();

    private final SecureRandom random = new SecureRandom();
    private long millis; // guarded by this
    private int high; // 16 of the 80 random bits; guarded by this
    private long low; // the other 64 random bits; guarded by this

    private Ulid() {}

    public static String next() {
        return SHARED.make(SystemTime.now().toEpochMilli());
    }

    private synchronized String make(long now) {
        if (now > millis) {
            millis = now;
            high = random.nextInt(1 << 15); // the top bit stays free, so that incrementing cannot overflow
            low = random.nextLong();
        } else if (++low == 0) {
            high++;
        }
        char[] text = new char[26];
        long rest = millis;
        for (int i = 9; i >= 0; i--, rest >>>= 5) {
            text[i] = ALPHABET[(int) (rest & 31)];
        }
        long lower = low;
        for (int i = 25; i >= 14; i--, lower >>>= 5) { // 12 characters encode 60 bits
            text[i] = ALPHABET[(int) (lower & 31)];
        }
        long upper = ((long) high << 4) | lower; // 16 bits and the top 4 bits of low: 20 bits, 4 characters
        for (int i = 13; i >= 10; i--, upper >>>= 5) {
            text[i] = ALPHABET[(int) (upper & 31)];
        }
        return new String(text);
    }
}
