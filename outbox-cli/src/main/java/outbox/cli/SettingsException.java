package outbox.cli;

import java.util.List;

/** Settings that cannot be used. Its message has a line for each, which says what to change. */
final class SettingsException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    SettingsException(String problem) {
        super(problem);
    }

    SettingsException(List<String> problems) {
        super(String.join(System.lineSeparator(), problems));
    }
}
