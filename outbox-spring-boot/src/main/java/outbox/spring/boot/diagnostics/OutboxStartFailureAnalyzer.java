package outbox.spring.boot.diagnostics;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Shows why the application cannot start with its outbox, and what to do. */
final class OutboxStartFailureAnalyzer extends AbstractFailureAnalyzer<OutboxStartException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, OutboxStartException cause) {
        return new FailureAnalysis(cause.getMessage() + ".", cause.action(), cause);
    }
}
