package outbox.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains a start failure: several data sources, and none is selected. */
final class AmbiguousDataSourceFailureAnalyzer extends AbstractFailureAnalyzer<AmbiguousDataSourceException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, AmbiguousDataSourceException cause) {
        String first = cause.beans().isEmpty() ? "dataSource" : cause.beans().get(0);
        return new FailureAnalysis(
                cause.getMessage() + ". None of them is primary.",
                """
                Say which one the outbox is in: %s=%s
                Or mark one DataSource with @Primary.
                Or, for an outbox in each, name them: outbox.named.<name>.data-source=%s""".formatted(cause.property(), first, first),
                cause);
    }
}
