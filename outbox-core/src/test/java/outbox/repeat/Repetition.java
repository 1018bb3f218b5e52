package outbox.repeat;

import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.TestExecutionResult.Status;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.LauncherInterceptor;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Runs all tests of a JVM several times, for {@code ./verify --repeat}. JVM and servers start once. The reports of
 * Surefire do not expect this, so the results are written to files of their own: a line for each test with outcome,
 * name and message, parted by tabs, and the stack traces of all failures.
 *
 * <p>{@code ./verify} puts this class on the class path of all modules. JUnit finds it as a service.
 */
public final class Repetition implements LauncherInterceptor, TestExecutionListener {

    /** How often each test runs. Without this property, this class does nothing. */
    private static final Integer RUNS = Integer.getInteger("outbox.test.runs");

    private static final Path DIRECTORY = Path.of("target", "repeated-tests").toAbsolutePath();
    private static final Path RESULTS =
            DIRECTORY.resolve(ProcessHandle.current().pid() + ".tsv");
    private static final Path FAILURES =
            DIRECTORY.resolve(ProcessHandle.current().pid() + "-failures.txt");

    /** Repeats the execution of tests, which returns null, but not their discovery. */
    @Override
    public <T> T intercept(Invocation<T> invocation) {
        T result = invocation.proceed();
        for (int i = 1; RUNS != null && i < RUNS && result == null; i++) {
            result = invocation.proceed();
        }
        return result;
    }

    @Override
    public void close() {}

    @Override
    public void executionSkipped(TestIdentifier test, String reason) {
        append(RESULTS, "skipped\t" + name(test) + "\t" + line(reason));
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        Throwable failure = result.getThrowable().orElse(null);
        if (failure != null) {
            String outcome = result.getStatus() == Status.FAILED ? "failed" : "skipped";
            append(RESULTS, outcome + "\t" + name(test) + "\t" + line(failure.toString()));
            StringWriter trace = new StringWriter();
            failure.printStackTrace(new PrintWriter(trace));
            append(FAILURES, name(test) + "\n" + trace);
        } else if (test.isTest()) {
            append(RESULTS, "passed\t" + name(test) + "\t");
        }
    }

    private static String line(String text) {
        String line = text.replaceAll("\\s+", " ");
        return line.substring(0, Math.min(line.length(), 500));
    }

    private static String name(TestIdentifier test) {
        TestSource source = test.getSource().orElse(null);
        String type = source instanceof MethodSource method
                ? method.getClassName()
                : source instanceof ClassSource whole ? whole.getClassName() : test.getUniqueId();
        return type + "." + (test.isTest() ? test.getLegacyReportingName() : "");
    }

    private static synchronized void append(Path file, String text) {
        if (RUNS == null) {
            return;
        }
        try {
            Files.createDirectories(DIRECTORY);
            Files.writeString(file, text + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
