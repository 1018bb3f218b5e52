package outbox.spring.boot;

import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Unless {@code outbox.enabled} is false. On every auto-configuration of ours. */
@Retention(RetentionPolicy.RUNTIME)
@Target(ElementType.TYPE)
@ConditionalOnBooleanProperty(name = "outbox.enabled", matchIfMissing = true)
@interface ConditionalOnOutbox {}
