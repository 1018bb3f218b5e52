package outbox.admin;

import org.jspecify.annotations.Nullable;

import java.util.List;

/**
 * A page of a search result.
 *
 * @param next the start of the next page, for {@link EventQuery#after(EventCursor)}; null if this page was not full,
 * so there was no next page
 */
public record EventPage(List<EventSummary> events, @Nullable EventCursor next) {

    public EventPage {
        events = List.copyOf(events);
    }
}
