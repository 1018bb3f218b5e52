package outbox.spring.boot.inbox;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import outbox.jdbc.InboxLayout;
import outbox.spring.Outbox;
import outbox.spring.boot.internal.PropertyCheck;

import java.time.Duration;

/**
 * Settings of the inbox.
 *
 * @param enabled whether there is an inbox, for injection and for @Idempotent methods
 * @param outbox name of the outbox whose data source and transactions the inbox uses, if there are several
 * @param table name of the table, with an optional schema; by default that of the layout, in the schema
 *     of the outbox
 * @param layout column layout of the table: inbox (our own) or consume-log
 * @param retention how long handled messages are remembered, 1m to 36500d; must be longer than the time after which
 *     a duplicate can still arrive; by default for ever
 * @param purgeInterval how long the purge waits after a run, 1s to 365d
 */
@ConfigurationProperties(OutboxInboxProperties.PREFIX)
record OutboxInboxProperties(
        @DefaultValue("true") boolean enabled,
        @DefaultValue(Outbox.DEFAULT) String outbox,
        @Nullable String table,
        @DefaultValue("inbox") InboxLayout layout,
        @Nullable Duration retention,
        @DefaultValue("1h") Duration purgeInterval) {

    static final String PREFIX = "outbox.inbox";

    OutboxInboxProperties {
        PropertyCheck check = PropertyCheck.of(PREFIX);
        check.notBlank("outbox", outbox);
        if (table != null) {
            check.notBlank("table", table);
        }
        if (retention != null) {
            check.between("retention", retention, Duration.ofMinutes(1), Duration.ofDays(36_500));
        }
        check.between("purge-interval", purgeInterval, Duration.ofSeconds(1), PropertyCheck.YEAR);
    }
}
