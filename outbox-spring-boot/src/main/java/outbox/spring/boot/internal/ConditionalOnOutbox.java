package outbox.spring.boot.internal;

import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Matches unless {@code outbox.enabled} is false. All auto-configurations of this library carry it. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@ConditionalOnBooleanProperty(name = "outbox.enabled", matchIfMissing = true)
public @interface ConditionalOnOutbox {}
