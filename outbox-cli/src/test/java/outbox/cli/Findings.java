package outbox.cli;

import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/** The findings of a run of {@code doctor}. */
final class Findings {

    private Findings() {}

    /** The checks that reported a finding. */
    static List<String> checks(Run run) {
        return run.out()
                .lines()
                .filter(line -> !line.startsWith(" "))
                .map(line -> line.substring(0, line.indexOf(':')))
                .toList();
    }

    static void assertFound(Run run, String check, String words) {
        assertThat(run.exitCode()).as(run.out() + run.err()).isEqualTo(ExitCode.PROBLEM);
        assertThat(checks(run)).as(run.out()).isNotEmpty().containsOnly(check);
        assertThat(run.out()).contains(words);
        assertThat(run.err()).doesNotContain("not checked");
    }

    static void assertSilent(Run run) {
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).contains("No problem found").doesNotContain("not checked");
        assertThat(run.exitCode()).isEqualTo(ExitCode.OK);
    }
}
