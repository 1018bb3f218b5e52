package outbox.dispatch;

/**
 * The end of a claim without an outcome: once it is written, any node may take the event. It has no payload, because the
 * queues count the bytes of an event only while the dispatcher holds it.
 *
 * @param token the claim to end; empty if the event has none
 * @param suspect whether the event stays a suspect
 * @param recorded whether its run was recorded, which is taken back
 * @param attempts the number of its attempts without that run
 * @param wakes whether to wake the poller for it
 */
record Release(String eventId, String token, boolean suspect, boolean recorded, int attempts, boolean wakes) {

    static Release of(Delivery delivery) {
        boolean neverStarted = delivery.state() != Delivery.State.SETTLED;
        boolean wakes = neverStarted
                && delivery.number() == 0
                && !delivery.isWithheld(); // the others wait for the next poll, or they would come back in a loop
        return new Release(
                delivery.eventId(),
                delivery.token(),
                delivery.staysSuspect(),
                delivery.isRunRecorded(),
                delivery.attempt() - 1,
                wakes);
    }
}
