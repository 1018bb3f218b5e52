package outbox.spring;

import java.lang.StackWalker.StackFrame;
import java.util.Objects;

/**
 * The part of a Spring transaction from which the current call comes. Spring does not report it, so it is read from
 * the stack: the nearest frame that belongs to Spring's transaction support decides.
 */
enum CallOrigin {
    /** Code inside the transaction. */
    BUSINESS,
    /**
     * A callback before the commit. A synchronization that is registered here does not get its own
     * {@code beforeCommit} call.
     */
    BEFORE_COMMIT,
    /** A callback after the commit. */
    AFTER_COMMIT,
    UNKNOWN;

    private static final String SUPPORT = "org.springframework.transaction.";
    private static final int MAX_FRAMES = 200; // a deeper search costs more than it finds

    static CallOrigin current() {
        return StackWalker.getInstance()
                .walk(frames -> frames.limit(MAX_FRAMES)
                        .filter(frame -> frame.getClassName().startsWith(SUPPORT))
                        .map(CallOrigin::of)
                        .filter(origin -> origin != UNKNOWN)
                        .findFirst()
                        .orElse(UNKNOWN));
    }

    private static CallOrigin of(StackFrame frame) {
        String type = frame.getClassName().substring(SUPPORT.length());
        String method = Objects.requireNonNullElse(frame.getMethodName(), "");
        if (type.equals("support.TransactionTemplate") || type.equals("interceptor.TransactionAspectSupport")) {
            return BUSINESS;
        }
        if (type.equals("support.TransactionSynchronizationUtils")) {
            return method.startsWith("invokeAfter")
                    ? AFTER_COMMIT
                    : method.startsWith("triggerBefore") ? BEFORE_COMMIT : UNKNOWN;
        }
        return type.startsWith("jta.") && method.equals("beforeCompletion") ? BEFORE_COMMIT : UNKNOWN;
    }
}
