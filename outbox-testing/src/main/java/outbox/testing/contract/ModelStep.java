package outbox.testing.contract;

import java.util.Random;

/**
 * A step of a random sequence. Its numbers select from the events that exist at that moment, so a sequence is still
 * valid after steps have been removed.
 */
record ModelStep(Kind kind, int a, int b, int c, int d, boolean rolledBack) {

    /** The kind of step, with its relative frequency. */
    enum Kind {
        WRITE(24),
        ADVANCE(12),
        CLAIM(16),
        MARK(22),
        RELEASE(2),
        RENEW(2),
        CRASH(1),
        CANCEL(6),
        RESCHEDULE(4),
        REPLACE(4),
        REPLAY(3),
        DISCARD(1),
        EXPIRE(2),
        PURGE(1),
        PAUSE(2),
        RESUME(3),
        LOOK(2);

        private final int weight;

        Kind(int weight) {
            this.weight = weight;
        }
    }

    private static final int ALL = sum();

    private static int sum() {
        int sum = 0;
        for (Kind kind : Kind.values()) {
            sum += kind.weight;
        }
        return sum;
    }

    static ModelStep random(Random random) {
        int choice = random.nextInt(ALL);
        int kind = 0;
        while (choice >= Kind.values()[kind].weight) {
            choice -= Kind.values()[kind].weight;
            kind++;
        }
        return new ModelStep(
                Kind.values()[kind],
                random.nextInt(1000),
                random.nextInt(1000),
                random.nextInt(1000),
                random.nextInt(1000),
                random.nextInt(8) == 0);
    }
}
