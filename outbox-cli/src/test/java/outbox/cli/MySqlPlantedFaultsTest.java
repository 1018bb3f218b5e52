package outbox.cli;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import outbox.testing.server.MySqlServer;

import java.util.Map;

@Tag("mysql")
class MySqlPlantedFaultsTest extends MySqlFamilyFaultsContract {

    MySqlPlantedFaultsTest() { // performance_schema contains the lock waits
        super(MySqlServer.start(Map.of("innodb-flush-log-at-trx-commit", "1", "performance-schema", "ON")), "MyISAM");
    }

    /** Tested here because the shared test server has no performance_schema. */
    @Test
    void who_holds_the_lock_is_named_by_a_command_that_gives_up() throws Exception {
        TimeLimitTest.assertHolderIsNamed(server());
    }
}
