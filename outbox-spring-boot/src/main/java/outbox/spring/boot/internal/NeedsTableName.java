package outbox.spring.boot.internal;

import outbox.spring.boot.OutboxCustomizer;

/** A customizer that needs the table name with its schema. To find out the schema takes a connection. */
public interface NeedsTableName extends OutboxCustomizer {

    /** Sets the name. It is called before the other methods, unless the database cannot be reached. */
    void table(String outbox, String qualified);
}
