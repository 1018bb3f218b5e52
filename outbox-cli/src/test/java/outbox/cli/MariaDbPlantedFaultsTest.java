package outbox.cli;

import org.junit.jupiter.api.Tag;
import outbox.testing.server.MariaDbServer;

import java.util.Map;
import java.util.stream.Stream;

@Tag("mariadb")
class MariaDbPlantedFaultsTest extends MySqlFamilyFaultsContract {

    MariaDbPlantedFaultsTest() {
        super(MariaDbServer.start(Map.of("innodb-flush-log-at-trx-commit", "1")), "Aria");
    }

    /** The last fault does not exist on MySQL, which refuses it: only InnoDB has descending indexes there. */
    @Override
    Stream<Fault> faults() {
        return Stream.concat(
                super.faults(),
                Stream.of(Fault.of(
                        "a table without transactions",
                        "durability",
                        "Table outbox_event has the engine MyISAM",
                        "ALTER TABLE outbox_event ENGINE = MyISAM")));
    }
}
