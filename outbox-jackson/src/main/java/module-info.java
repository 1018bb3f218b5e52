/** Payloads as Java types, on Jackson 2. */
module outbox.jackson {
    requires transitive outbox.core;
    requires transitive com.fasterxml.jackson.databind;
    requires static org.jspecify;

    exports outbox.jackson;
}
