package outbox.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains a start failure: a property with a wrong value. */
final class InvalidPropertyFailureAnalyzer extends AbstractFailureAnalyzer<InvalidPropertyException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, InvalidPropertyException cause) {
        return new FailureAnalysis(
                cause.getMessage() + ".",
                "Set " + cause.property() + " to a value that is " + cause.allowed() + ", or leave it out.",
                cause);
    }
}
