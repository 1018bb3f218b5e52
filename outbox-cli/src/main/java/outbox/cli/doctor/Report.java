package outbox.cli.doctor;

import java.util.List;

/**
 * The result of an examination.
 *
 * @param notes observations that are unusual but not wrong
 * @param notChecked checks that could not run, each with the reason, such as a missing privilege
 */
public record Report(List<Finding> findings, List<String> notes, List<String> notChecked) {

    public Report {
        findings = List.copyOf(findings);
        notes = List.copyOf(notes);
        notChecked = List.copyOf(notChecked);
    }
}
