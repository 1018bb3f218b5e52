package outbox.testing.fault;

import outbox.testing.fault.FaultProxy.Direction;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A fault that waits for a certain point in the traffic and cuts the first connection that reaches it. It happens
 * once. Threads: the pumps of all connections use it.
 */
abstract class Trap {
    private final AtomicBoolean taken = new AtomicBoolean();
    private final CompletableFuture<Void> sprung = new CompletableFuture<>();

    /** Returns a new observer for one connection. */
    abstract LookOut lookOut();

    /** Returns a future that completes when the connection has been cut, and that is cancelled with the trap. */
    final CompletableFuture<Void> sprung() {
        return sprung;
    }

    /** Returns true for the first caller only, whose connection is then cut. */
    final boolean take() {
        return taken.compareAndSet(false, true);
    }

    interface LookOut {
        /**
         * Decides about bytes before they are passed on. Both pumps of a connection call this, each for
         * its direction.
         */
        Verdict judge(Direction direction, byte[] bytes, int length);
    }

    /** The number of bytes to pass on, and whether to cut the connection afterwards. */
    record Verdict(int bytes, boolean cut) {
        static Verdict pass(int bytes) {
            return new Verdict(bytes, false);
        }

        static Verdict passAndCut(int bytes) {
            return new Verdict(bytes, true);
        }
    }

    /**
     * Passes this number of bytes in one direction, counted over all connections, and cuts the connection that
     * carried the last byte.
     */
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

    /** Cuts the connection instead of passing on the chunk in which the marker ends. */
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

    /** Passes the marker on to the server and cuts the connection instead of returning the reply. */
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
        private final MarkerSearch search; // used only by the pump to the server
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
            // set before the request is passed on, so it is set before a reply can arrive
            if (search.endsIn(bytes, length) && trap.take()) {
                swallows = true;
            }
            return Verdict.pass(length);
        }
    }
}
