package outbox.benchmarks.jmh;

import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import outbox.util.JsonCodec;

import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Converts headers to JSON and back, as they are stored. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(2)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class JsonCodecBenchmark {
    private static final Map<String, @Nullable String> HEADERS = Map.of(
            "traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "content-type", "application/json",
            "tenant", "a \"quoted\" name");
    private static final String JSON = String.valueOf(JsonCodec.toJson(HEADERS));

    /** Uses three headers; one of them contains characters to escape. */
    @Benchmark
    public @Nullable String toJson() {
        return JsonCodec.toJson(HEADERS);
    }

    @Benchmark
    public Map<String, String> parseObject() {
        return JsonCodec.parseObject(JSON);
    }
}
