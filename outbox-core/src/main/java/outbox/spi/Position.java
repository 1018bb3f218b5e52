package outbox.spi;

/**
 * The position of an event in the order of its aggregate.
 *
 * @param number the number of the event, assigned by the database; a higher number means later. Zero or negative if
 * the event is no longer part of the order
 * @param unfinishedBefore the number of the nearest preceding event that is NEW or RETRY; 0 if there is none
 * @param deadBefore the number of the nearest preceding event that is DEAD; 0 if there is none
 */
public record Position(long number, long unfinishedBefore, long deadBefore) {}
