package outbox.cli.doctor;

import java.util.List;

/**
 * What an examination found.
 *
 * @param notes what is unusual and not wrong by itself
 * @param notChecked checks that could not be made, each with the reason, such as a missing privilege
 */
public record Report(List<Finding> findings, List<String> notes, List<String> notChecked) {

    public Report {
        findings = List.copyOf(findings);
        notes = List.copyOf(notes);
        notChecked = List.copyOf(notChecked);
    }
}
