package outbox.jdbc.internal.leader;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/** The test vectors come from the draft that defines the hash. */
class Fnv1aTest {

    @ParameterizedTest
    @CsvSource({
        "'', cbf29ce484222325",
        "a, af63dc4c8601ec8c",
        "b, af63df4c8601f1a5",
        "foo, dcb27518fed9d577",
        "foobar, 85944171f73967e8"
    })
    void the_hash_is_that_of_its_definition(String text, String hash) {
        assertThat(Fnv1a.hash(text)).isEqualTo(Long.parseUnsignedLong(hash, 16));
    }

    @Test
    void the_key_of_a_table_is_the_same_for_ever() {
        assertThat(PostgresLeaderLock.key("public.org_outbox")).isEqualTo(-385503054640916523L);
    }

    @Test
    void the_name_of_a_lock_on_mysql_tells_databases_apart_and_is_short_enough() {
        String table = "org_outbox";

        assertThat(MySqlLeaderLock.name(table, "shop")).isNotEqualTo(MySqlLeaderLock.name(table, "bank"));
        assertThat(MySqlLeaderLock.name(table, "shop"))
                .isEqualTo(MySqlLeaderLock.name("shop.org_outbox", "bank"))
                .matches("outbox:[0-9a-f]{16}");
    }
}
