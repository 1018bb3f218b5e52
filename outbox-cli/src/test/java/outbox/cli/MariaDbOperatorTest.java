package outbox.cli;

import org.junit.jupiter.api.Tag;
import outbox.testing.server.MariaDbServer;

@Tag("mariadb")
class MariaDbOperatorTest extends MySqlFamilyOperatorContract {

    MariaDbOperatorTest() {
        super(MariaDbServer.shared());
    }
}
