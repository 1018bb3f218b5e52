package outbox.cli.doctor;

/**
 * Something that is wrong.
 *
 * @param check which check found it
 * @param problem what is wrong, with the names and numbers that were seen
 * @param fix what to do about it
 */
public record Finding(String check, String problem, String fix) {}
