package outbox.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains a start failure: a data source without a transaction manager. */
final class MissingTransactionManagerFailureAnalyzer
        extends AbstractFailureAnalyzer<MissingTransactionManagerException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, MissingTransactionManagerException cause) {
        return new FailureAnalysis(
                cause.getMessage() + ".", """
                Events are written in the transactions of the application. Declare a transaction manager for the DataSource:
                    @Bean JdbcTransactionManager transactions(DataSource dataSource) { return new JdbcTransactionManager(dataSource); }
                With several of them, name it: %s=<bean>
                If this process only delivers what others write: %s=relay""".formatted(cause.property(), cause.roleProperty()), cause);
    }
}
