package outbox.dispatch;

import outbox.spi.Mark;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Outcomes that are written in one transaction, by kind.
 *
 * @param keepKey delivered events that stay in the table because of their deduplication key, even if delivered
 *     events are deleted
 * @param runs the runs to add to the history of attempts, if the store has one
 */
record OutcomeGroup(List<Mark> marks, List<Release> releases, Set<String> keepKey, List<EndedRun> runs) {

    static OutcomeGroup of(List<Outcome> outcomes) {
        OutcomeGroup group = new OutcomeGroup(new ArrayList<>(), new ArrayList<>(), new HashSet<>(), new ArrayList<>());
        for (Outcome outcome : outcomes) {
            if (outcome.what() instanceof Outcome.Released released) {
                group.releases.add(released.release());
            } else if (outcome.what() instanceof Outcome.Marked marked) {
                group.add(marked);
            }
        }
        return group;
    }

    private void add(Outcome.Marked marked) {
        marks.add(marked.mark());
        EndedRun run = EndedRun.of(marked.delivery(), marked.mark());
        if (run != null) {
            runs.add(run);
        }
        if (marked.delivery().envelope().dedupFor() != null) {
            keepKey.add(marked.eventId());
        }
    }

    int size() {
        return marks.size() + releases.size();
    }
}
