package outbox.spring.boot.diagnostics;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;
import outbox.spring.DuplicateListenerException;

/** Explains a start failure: several listeners for one event. */
final class DuplicateListenerFailureAnalyzer extends AbstractFailureAnalyzer<DuplicateListenerException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, DuplicateListenerException cause) {
        return new FailureAnalysis(String.valueOf(cause.getMessage()), """
                An event has one listener, because it has one outcome and one count of attempts. Keep one of the two and do both things there,
                or publish to a broker and let each receiver subscribe, or write a second event for the second receiver.""", cause);
    }
}
