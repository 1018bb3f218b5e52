package outbox.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

import java.util.ArrayList;
import java.util.List;

/** Explains a start failure: a table is missing or incomplete. */
final class MissingSchemaFailureAnalyzer extends AbstractFailureAnalyzer<MissingSchemaException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, MissingSchemaException cause) {
        List<String> ways = new ArrayList<>();
        if (cause.isDefaultTable()) {
            ways.add("Flyway: spring.flyway.locations=classpath:db/migration," + cause.flywayLocations());
            ways.add("Liquibase: include " + cause.liquibaseFiles());
        }
        ways.add("a migration of your own, " + cause.migration());
        ways.add("at each start, by the application: " + cause.initializeProperty() + "=always");
        return new FailureAnalysis(
                cause.getMessage() + ".",
                "Create what is missing, in one of these ways:\n- " + String.join("\n- ", ways),
                cause);
    }
}
