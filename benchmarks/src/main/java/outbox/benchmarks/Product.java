package outbox.benchmarks;

import java.util.Locale;

/** A database product. */
enum Product {
    POSTGRESQL("PostgreSQL"),
    MARIADB("MariaDB");

    private final String title;

    Product(String title) {
        this.title = title;
    }

    String title() {
        return title;
    }

    /** The name in options and file names. */
    String id() {
        return name().toLowerCase(Locale.ROOT);
    }
}
