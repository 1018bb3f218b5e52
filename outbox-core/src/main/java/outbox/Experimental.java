package outbox;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks public API that may change incompatibly or be removed in any release, including patch releases.
 *
 * <p>Such API is tested and may be used in production, but its design is not final. Public API without this
 * annotation changes incompatibly only in a new major version, or in a new minor version below 1.0. The annotation
 * on a type also applies to its members and nested types.
 */
@Documented
@Retention(RetentionPolicy.CLASS)
@Target({ElementType.TYPE, ElementType.METHOD, ElementType.CONSTRUCTOR, ElementType.FIELD})
public @interface Experimental {}
