package outbox.dispatch;

/**
 * The end of a claim without an outcome. After it is written, any node may claim the event. A release contains no
 * payload, because the queues count the bytes of an event only while the dispatcher holds it.
 *
 * @param token the claim to end; empty if the event has none
 * @param suspect whether the event stays a suspect
 * @param recorded whether its run was recorded; the release undoes that
 * @param attempts the number of attempts without that run
 * @param wakes whether to wake the poller for it
 */
record Release(String eventId, String token, boolean suspect, boolean recorded, int attempts, boolean wakes) {

    static Release of(Delivery delivery) {
        boolean neverStarted = delivery.state() != Delivery.State.ENDED;
        boolean wakes = neverStarted
                && delivery.number() == 0
                && !delivery.isWithheld(); // waking for others would claim and release them in a loop
        return new Release(
                delivery.eventId(),
                delivery.token(),
                delivery.staysSuspect(),
                delivery.isRunRecorded(),
                delivery.attempt() - 1,
                wakes);
    }
}
