package outbox.cli;

import outbox.samples.demo.Main;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

import java.util.concurrent.Callable;

/** Runs the sample of a shop, which ends the process with an exit code of its own. */
@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        description = "A shop under load on an embedded H2; in the end its books must balance.")
final class DemoCommand implements Callable<Integer> {

    @Option(
            names = "--seconds",
            paramLabel = "N",
            defaultValue = "20",
            description = "how long customers order, 1 to 3600; default ${DEFAULT-VALUE}")
    private int seconds;

    @Override
    public Integer call() throws Exception {
        Main.main(new String[] {"--seconds", String.valueOf(seconds)});
        return ExitCode.OK;
    }
}
