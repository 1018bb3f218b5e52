package outbox.dispatch;

import java.util.List;

/** The places in limits and the tickets of breakers that a delivery holds, in the order of the gates. */
record Permit(List<Gate> gates, List<Long> tickets) {}
