package outbox.spring;

import java.lang.StackWalker.StackFrame;
import java.util.Optional;

/** Tells whether the current call comes from an after-commit callback of Spring, for which Spring itself has no answer. */
final class AfterCommitCall {

    private static final String SUPPORT = "org.springframework.transaction.";
    private static final int MAX_FRAMES = 200; // looking further costs more than it finds

    private AfterCommitCall() {}

    static boolean isNearest() {
        Optional<StackFrame> nearest = StackWalker.getInstance()
                .walk(frames -> frames.limit(MAX_FRAMES)
                        .filter(frame -> frame.getClassName().startsWith(SUPPORT))
                        .filter(frame -> isCallback(frame) || isTransaction(frame))
                        .findFirst());
        return nearest.isPresent() && isCallback(nearest.get());
    }

    private static boolean isCallback(StackFrame frame) {
        return frame.getClassName().equals(SUPPORT + "support.TransactionSynchronizationUtils")
                && frame.getMethodName().startsWith("invokeAfter");
    }

    private static boolean isTransaction(StackFrame frame) {
        return frame.getClassName().equals(SUPPORT + "support.TransactionTemplate")
                || frame.getClassName().equals(SUPPORT + "interceptor.TransactionAspectSupport");
    }
}
