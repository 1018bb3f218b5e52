package outbox.jdbc;

import outbox.EventEnvelope;
import outbox.EventListener;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Records in one sequence which runs start and succeed, on any number of nodes. The payload numbers the events of an
 * aggregate from 1.
 */
final class OrderLog implements EventListener {

    /** The start or the success of a run. */
    record Step(String aggregate, int number, boolean isStart) {}

    final List<Step> steps = new CopyOnWriteArrayList<>();
    volatile EventListener behaviour = event -> {};

    static EventEnvelope event(String aggregate, int number) {
        return event("T", aggregate, number);
    }

    static EventEnvelope event(String type, String aggregate, int number) {
        return EventEnvelope.builder(type)
                .aggregateType("Order")
                .aggregateId(aggregate)
                .payloadJson(Integer.toString(number))
                .build();
    }

    static String aggregate(EventEnvelope event) {
        return Objects.requireNonNull(event.aggregateId());
    }

    static int number(EventEnvelope event) {
        return Integer.parseInt(event.payloadJson());
    }

    static boolean is(EventEnvelope event, String aggregate, int number) {
        return aggregate(event).equals(aggregate) && number(event) == number;
    }

    @Override
    public void onEvent(EventEnvelope event) throws Exception {
        start(event);
        behaviour.onEvent(event);
        success(event);
    }

    void start(EventEnvelope event) {
        steps.add(new Step(aggregate(event), number(event), true));
    }

    void success(EventEnvelope event) {
        steps.add(new Step(aggregate(event), number(event), false));
    }

    /** Returns the event numbers of the runs of an aggregate, in the order of their start. */
    List<Integer> started(String aggregate) {
        return numbers(aggregate, true);
    }

    /** Returns the event numbers of the successful runs of an aggregate, in the order of their end. */
    List<Integer> succeeded(String aggregate) {
        return numbers(aggregate, false);
    }

    private List<Integer> numbers(String aggregate, boolean starts) {
        return steps.stream()
                .filter(step -> step.aggregate.equals(aggregate) && step.isStart == starts)
                .map(Step::number)
                .toList();
    }

    /** Asserts that no run started before the first success of the previous event. */
    void assertInOrder() {
        Map<String, Set<Integer>> succeeded = new HashMap<>();
        for (Step step : steps) {
            Set<Integer> before = succeeded.computeIfAbsent(step.aggregate, none -> new HashSet<>());
            if (!step.isStart) {
                before.add(step.number);
            } else if (step.number > 1) {
                assertThat(before).as("done before %s", step).contains(step.number - 1);
            }
        }
    }
}
