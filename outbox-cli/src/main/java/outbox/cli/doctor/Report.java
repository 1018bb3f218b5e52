package outbox.cli.doctor;

import java.util.List;

/**
 * What an examination found.
 *
 * @param notChecked checks that could not be made, each with the reason, such as a missing privilege
 */
public record Report(List<Finding> findings, List<String> notChecked) {

    public Report {
        findings = List.copyOf(findings);
        notChecked = List.copyOf(notChecked);
    }
}
