package outbox.cli;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import outbox.EventEnvelope;
import outbox.RetryLaterException;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class StdoutTransportTest {

    private static String deliver(EventEnvelope event) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        new StdoutTransport(out, why -> {
                    throw new AssertionError(why);
                })
                .onEvent(event);
        return out.toString(StandardCharsets.UTF_8);
    }

    @Test
    void an_event_is_one_line_with_its_payload_as_it_is() throws Exception {
        String line = deliver(EventEnvelope.builder("order.placed")
                .eventId("e1")
                .header("trace", "r1")
                .payloadJson("{\n \"n\": 1.00, \"t\": \"zwölf\\n\"\r\n}")
                .build());

        assertThat(line.lines()).hasSize(1);
        assertThat(line)
                .endsWith("}\n")
                .contains("\"eventId\":\"e1\"", "\"trace\":\"r1\"", "\"n\": 1.00, \"t\": \"zwölf\\n\"");
    }

    @Test
    void a_payload_that_is_no_json_is_a_text() throws Exception {
        assertThat(deliver(EventEnvelope.ofJson("a", "{} {}"))).contains("\"payloadText\":\"{} {}\"");
        assertThat(deliver(EventEnvelope.builder("a")
                        .payloadBytes(new byte[] {1, 2})
                        .build()))
                .contains("\"payloadBase64\":\"AQI=\"");
    }

    @Test
    void a_pipe_that_broke_costs_no_attempt_and_is_told_once() {
        AtomicInteger writes = new AtomicInteger();
        OutputStream broken = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                writes.incrementAndGet();
                throw new IOException("Broken pipe");
            }
        };
        List<String> told = new ArrayList<>();
        StdoutTransport transport = new StdoutTransport(broken, told::add);

        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> transport.onEvent(EventEnvelope.ofJson("a", "{}")))
                    .isInstanceOfSatisfying(
                            RetryLaterException.class,
                            later -> assertThat(later.isCounted()).isFalse());
        }

        assertThat(told).containsExactly("Cannot write to standard output: Broken pipe");
        assertThat(writes).hasValue(1); // no write after a line that may be incomplete
    }

    @Test
    @Timeout(30)
    void lines_of_several_threads_are_not_torn() throws Exception {
        ByteArrayOutputStream lines = new ByteArrayOutputStream();
        OutputStream oneByOne = new OutputStream() {
            @Override
            public void write(int b) {
                lines.write(b);
                Thread.onSpinWait();
            }
        };
        StdoutTransport transport = new StdoutTransport(oneByOne, why -> {});
        ExecutorService tables = Executors.newFixedThreadPool(2);
        try {
            List<Future<?>> ends = new ArrayList<>();
            for (int table = 0; table < 2; table++) {
                ends.add(tables.submit(() -> {
                    for (int i = 0; i < 50; i++) {
                        transport.onEvent(EventEnvelope.ofJson("a", "{}"));
                    }
                    return null;
                }));
            }
            for (Future<?> end : ends) {
                end.get(20, TimeUnit.SECONDS);
            }
        } finally {
            tables.shutdownNow();
        }

        assertThat(lines.toString(StandardCharsets.UTF_8).lines())
                .hasSize(100)
                .allMatch(line -> line.startsWith("{\"eventId\"") && line.endsWith("}"));
    }
}
