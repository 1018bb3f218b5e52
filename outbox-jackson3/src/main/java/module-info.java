/** Payloads as Java types, on Jackson 3. */
@SuppressWarnings("module") // the digit is that of Jackson's own name
module outbox.jackson3 {
    requires transitive outbox.core;
    requires transitive tools.jackson.databind;
    requires static org.jspecify;

    exports outbox.jackson3;
}
