package outbox.jdbc;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;
import java.util.Locale;
import java.util.Map;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

@Tag("mariadb")
@Tag("mysql")
class JdbcEventStoresTest {

    @Test
    void the_stores_of_three_databases_and_of_registered_dialects_are_known() {
        assertThat(JdbcEventStores.all())
                .extracting(AbstractJdbcEventStore::name)
                .containsExactlyInAnyOrder("acme", "h2", "mysql", "postgresql");
    }

    @Test
    void a_store_is_found_by_its_name_in_any_case_and_locale() {
        Locale before = Locale.getDefault();
        try {
            Locale.setDefault(Locale.forLanguageTag("tr")); // in Turkish, the lower case of I has no dot

            assertThat(JdbcEventStores.get("POSTGRESQL")).isInstanceOf(PostgresEventStore.class);
            assertThat(JdbcEventStores.get("MySql")).isInstanceOf(MySqlEventStore.class);
            assertThat(JdbcEventStores.detect("JDBC:MARIADB://db/shop")).isInstanceOf(MySqlEventStore.class);
        } finally {
            Locale.setDefault(before);
        }
    }

    @Test
    void an_unknown_name_is_refused_with_the_known_ones() {
        assertThatThrownBy(() -> JdbcEventStores.get("oracle"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Unknown event store")
                .hasMessageContaining("postgresql");
    }

    @Test
    void a_store_is_found_by_the_url_of_its_database() {
        Map<String, Class<?>> expected = Map.of(
                "jdbc:h2:mem:x", H2EventStore.class,
                "jdbc:mysql://db/x", MySqlEventStore.class,
                "jdbc:mariadb://db/x", MySqlEventStore.class,
                "jdbc:tidb://db/x", MySqlEventStore.class,
                "jdbc:postgresql://db/x", PostgresEventStore.class);

        expected.forEach((url, store) -> assertThat(JdbcEventStores.detect(url)).isInstanceOf(store));
    }

    @Test
    void no_url_is_an_illegal_argument() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> JdbcEventStores.detect((String) null))
                .withMessageContaining("URL");
    }

    @Test
    void a_url_of_no_store_is_refused_without_telling_its_secrets() {
        assertThatThrownBy(() -> JdbcEventStores.detect("jdbc:oracle:thin:scott/tiger@db"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("No event store found")
                .hasMessageContaining("jdbc:oracle:")
                .hasMessageNotContaining("tiger");
    }

    @ParameterizedTest
    @EnumSource(value = Databases.class, mode = EnumSource.Mode.EXCLUDE, names = "H2_AS_MYSQL")
    void a_store_is_found_by_asking_the_data_source(Databases database) {
        assertThat(JdbcEventStores.detect(Databases.newPool(database.url(), 2, true)))
                .hasSameClassAs(database.store());
    }

    @ParameterizedTest
    @ValueSource(strings = {"outbox_event", "Billing.Outbox_Event2", "_x"})
    void table_names_of_letters_digits_and_underscores_are_taken(String name) {
        assertThat(new H2EventStore(name).table().value()).isEqualTo(name);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"", " ", "x\";drop table y", "a.b.c", "1x", "x-y", "tablo\u0131", "x y", "x;", ".x", "x.", "a'b"
            })
    void other_table_names_are_refused(String name) {
        for (String store : List.of("h2", "mysql", "postgresql")) {
            assertThatThrownBy(() -> {
                        switch (store) {
                            case "h2" -> new H2EventStore(name);
                            case "mysql" -> new MySqlEventStore(name);
                            default -> new PostgresEventStore(name);
                        }
                    })
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("is not a table name");
        }
    }
}
