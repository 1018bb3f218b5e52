package outbox.cli;

import java.util.List;

/** The settings cannot be used. The message has one line for each problem, which says what to change. */
final class SettingsException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    SettingsException(String problem) {
        super(problem);
    }

    SettingsException(List<String> problems) {
        super(String.join(System.lineSeparator(), problems));
    }
}
