/** A transport that posts events as CloudEvents. */
module outbox.http {
    requires transitive outbox.core;
    requires java.net.http;
    requires static org.jspecify;

    exports outbox.http;
}
