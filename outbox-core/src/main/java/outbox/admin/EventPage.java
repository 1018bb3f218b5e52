package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * A page of a search.
 *
 * @param next where the next page starts, for {@link EventQuery#after(EventCursor)}; null if this page was not full, so nothing followed
 */
public record EventPage(List<EventSummary> events, @Nullable EventCursor next) {

    public EventPage {
        events = List.copyOf(events);
    }
}
