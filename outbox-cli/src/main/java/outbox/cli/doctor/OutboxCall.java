package outbox.cli.doctor;

import java.util.List;

/** A call of the command, to be pasted into a shell as it stands. */
final class OutboxCall {

    private final StringBuilder line = new StringBuilder("outbox");

    /** @param flags what names the database, as the caller named it */
    OutboxCall(String command, List<String> flags) {
        line.append(' ').append(command);
        flags.forEach(flag -> line.append(' ').append(Quoted.shell(flag)));
    }

    OutboxCall with(String option, String value) {
        String word = Quoted.shell(value);
        line.append(' ').append(option).append(word.equals(value) ? ' ' : '=').append(word);
        return this;
    }

    /**
     * The last word: an event id. What looks like an option or a file of arguments is kept from being taken for one.
     */
    String of(String operand) {
        String word = operand.startsWith("@") ? "@" + operand : operand;
        return line + (operand.startsWith("-") ? " -- " : " ") + Quoted.shell(word);
    }

    @Override
    public String toString() {
        return line.toString();
    }
}
