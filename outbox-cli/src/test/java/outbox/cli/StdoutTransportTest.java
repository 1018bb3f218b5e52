package outbox.cli;

import org.junit.jupiter.api.Test;
import outbox.EventEnvelope;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

class StdoutTransportTest {

    private static String deliver(EventEnvelope event) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        new StdoutTransport(out).onEvent(event);
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
    void a_pipe_that_broke_is_a_failed_attempt() {
        OutputStream broken = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException("Broken pipe");
            }
        };

        assertThatThrownBy(() -> new StdoutTransport(broken).onEvent(EventEnvelope.ofJson("a", "{}")))
                .hasMessage("Broken pipe");
    }
}
