package outbox.testing;

import outbox.testing.FaultProxy.Direction;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A cut that waits for a place in the traffic and springs once, in the first connection that gets there. Threads: the
 * pumps of every connection ask it.
 */
abstract class Trap {
    private final AtomicBoolean taken = new AtomicBoolean();
    private final CompletableFuture<Void> sprung = new CompletableFuture<>();

    /** Returns a look-out for one connection. */
    abstract LookOut lookOut();

    /** Completes when the connection has been cut, or is cancelled with the trap. */
    final CompletableFuture<Void> sprung() {
        return sprung;
    }

    /** Returns true to one caller only, the connection that is to be cut. */
    final boolean take() {
        return taken.compareAndSet(false, true);
    }

    interface LookOut {
        /** Judges bytes before they are passed on. Called by the two pumps of a connection, each for its direction. */
        Verdict judge(Direction direction, byte[] bytes, int length);
    }

    /** How many of the bytes to pass on, and whether to cut the connection then. */
    record Verdict(int bytes, boolean cut) {
        static Verdict pass(int bytes) {
            return new Verdict(bytes, false);
        }

        static Verdict passAndCut(int bytes) {
            return new Verdict(bytes, true);
        }
    }

    /** Passes so many bytes in one direction, of all connections together, and cuts the one that carried the last. */
    static Trap afterBytes(Direction trapped, long bytes) {
        return new Trap() {
            private final AtomicLong remaining = new AtomicLong(bytes);

            @Override
            LookOut lookOut() {
                return (direction, chunk, length) -> {
                    if (direction != trapped) {
                        return Verdict.pass(length);
                    }
                    long left = remaining.addAndGet(-length);
                    return left <= 0 && take() ? Verdict.passAndCut((int) (left + length)) : Verdict.pass(length);
                };
            }
        };
    }

    /** Cuts instead of passing the bytes in which the marker ends on to the server. */
    static Trap beforeRequest(byte[] marker) {
        return new Trap() {
            @Override
            LookOut lookOut() {
                var search = new MarkerSearch(marker);
                return (direction, bytes, length) ->
                        direction == Direction.TO_SERVER && search.endsIn(bytes, length) && take()
                                ? Verdict.passAndCut(0)
                                : Verdict.pass(length);
            }
        };
    }

    /** Passes the marker on to the server and cuts instead of passing its answer back. */
    static Trap beforeReply(byte[] marker) {
        return new Trap() {
            @Override
            LookOut lookOut() {
                return new ReplyLookOut(this, marker);
            }
        };
    }

    private static final class ReplyLookOut implements LookOut {
        private final Trap trap;
        private final MarkerSearch search; // pump to the server only
        private volatile boolean swallows; // written by the pump to the server, read by the pump to the client

        ReplyLookOut(Trap trap, byte[] marker) {
            this.trap = trap;
            search = new MarkerSearch(marker);
        }

        @Override
        public Verdict judge(Direction direction, byte[] bytes, int length) {
            if (direction == Direction.TO_CLIENT) {
                return swallows ? Verdict.passAndCut(0) : Verdict.pass(length);
            }
            // Set before the request is passed on, so before there can be an answer to it.
            if (search.endsIn(bytes, length) && trap.take()) {
                swallows = true;
            }
            return Verdict.pass(length);
        }
    }
}
