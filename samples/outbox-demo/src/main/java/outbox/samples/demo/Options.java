package outbox.samples.demo;

import java.time.Duration;

/** The options of the command line. */
record Options(Duration duration, boolean help) {

    static final String USAGE = """
            A small shop with an outbox, under load: customers order, cards are refused, the
            carrier fails, and in the end the books must balance.

            Usage: ./outbox demo [--seconds N]

              --seconds N   how long customers order, 1 to 3600; default 20
              --help        this text

            Ctrl-C ends it early, with the summary. Exit code: 0 the books balance, 1 they do
            not, 2 wrong arguments.""";

    private static final int MAX_SECONDS = 3600;

    /** Parses the arguments. Throws with a message for the user if an argument is wrong. */
    static Options parse(String... args) {
        int seconds = 20;
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--help", "-h" -> {
                    return new Options(Duration.ZERO, true);
                }
                case "--seconds" -> {
                    i++;
                    seconds = seconds(i < args.length ? args[i] : "nothing");
                }
                default ->
                    throw new IllegalArgumentException(
                            "Unknown argument '" + args[i] + "'. Use --seconds N, or --help to see what it means.");
            }
        }
        return new Options(Duration.ofSeconds(seconds), false);
    }

    private static int seconds(String text) {
        if (text.matches("[0-9]{1,4}")) {
            int seconds = Integer.parseInt(text);
            if (seconds >= 1 && seconds <= MAX_SECONDS) {
                return seconds;
            }
        }
        throw new IllegalArgumentException(
                "--seconds needs a whole number from 1 to " + MAX_SECONDS + ", but got " + text + ".");
    }
}
