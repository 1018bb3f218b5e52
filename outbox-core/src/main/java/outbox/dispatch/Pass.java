package outbox.dispatch;

import java.util.List;

/** What a delivery took to be let in: its places in limits, and the tickets of breakers, by the order of the gates. */
record Pass(List<Gate> gates, List<Long> tickets) {}
