package outbox.internal;

import java.security.SecureRandom;

/**
 * Monotonic ULIDs: 48 bits of time and 80 random bits as 26 characters. Ids made by one process sort in the order of their making, also within a millisecond and when the
 * wall clock steps back, so an index on them is appended to.
 */
public final class Ulid {

    private static final char[] ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ".toCharArray();
    private static final Ulid SHARED = new Ulid();

    private final SecureRandom random = new SecureRandom();
    private long millis; // guarded by this, with the two below
    private int high; // 16 of the 80 random bits
    private long low; // the other 64

    private Ulid() {}

    public static String next() {
        return SHARED.make(SystemTime.now().toEpochMilli());
    }

    private synchronized String make(long now) {
        if (now > millis) {
            millis = now;
            high = random.nextInt(1 << 15); // the top bit stays free, so that counting up cannot overflow
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
        for (int i = 25; i >= 14; i--, lower >>>= 5) { // 12 characters carry 60 bits
            text[i] = ALPHABET[(int) (lower & 31)];
        }
        long upper = ((long) high << 4) | lower; // 16 bits and the last 4 of low: 20 bits, 4 characters
        for (int i = 13; i >= 10; i--, upper >>>= 5) {
            text[i] = ALPHABET[(int) (upper & 31)];
        }
        return new String(text);
    }
}
