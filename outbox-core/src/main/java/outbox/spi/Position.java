package outbox.spi;

/**
 * Where an event stands in the order of its aggregate.
 *
 * @param number of the event, from the database; larger means later. Zero or negative: the event has left the order
 * @param unfinishedBefore number of the nearest event before it that is NEW or RETRY; 0 if there is none
 * @param deadBefore number of the nearest event before it that is DEAD; 0 if there is none
 */
public record Position(long number, long unfinishedBefore, long deadBefore) {}
