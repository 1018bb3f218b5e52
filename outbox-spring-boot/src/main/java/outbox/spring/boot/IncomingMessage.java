package outbox.spring.boot;

import org.jspecify.annotations.Nullable;

import java.util.Map;

/**
 * The message or event that is handled on this thread, as key expressions see it. It is public, because expressions
 * can only read public types.
 *
 * @param id null if it has none
 * @param type null if it has none
 */
public record IncomingMessage(@Nullable String id, @Nullable String type, Map<String, ?> headers) {}
