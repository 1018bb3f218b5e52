package outbox;

import java.util.Objects;

/** An aggregate type whose name is known only at run time. */
public record StringAggregateType(String name) implements AggregateType {

    public StringAggregateType {
        Objects.requireNonNull(name, "name");
        if (name.isEmpty()) {
            throw new IllegalArgumentException("The name of an aggregate type must not be empty");
        }
    }

    public static StringAggregateType of(String name) {
        return new StringAggregateType(name);
    }

    @Override
    public String toString() {
        return name;
    }
}
