package outbox.cli.doctor;

import java.util.List;

/** A call of the command that can be pasted into a shell. */
final class OutboxCall {

    private final StringBuilder line = new StringBuilder("outbox");

    /** @param flags the flags that select the database, as the caller gave them */
    OutboxCall(String command, List<String> flags) {
        line.append(' ').append(command);
        flags.forEach(flag -> line.append(' ').append(Quoted.shell(flag)));
    }

    OutboxCall with(String option, String value) {
        String word = Quoted.shell(value);
        line.append(' ').append(option).append(word.equals(value) ? ' ' : '=').append(word);
        return this;
    }

    /** Adds an event id as the last word, so that it cannot be parsed as an option or a file of arguments. */
    String of(String operand) {
        String word = operand.startsWith("@") ? "@" + operand : operand;
        return line + (operand.startsWith("-") ? " -- " : " ") + Quoted.shell(word);
    }

    @Override
    public String toString() {
        return line.toString();
    }
}
