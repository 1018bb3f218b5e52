package outbox.cli;

import org.junit.jupiter.api.Tag;
import outbox.testing.server.MySqlServer;

@Tag("mysql")
class MySqlOperatorTest extends MySqlFamilyOperatorContract {

    MySqlOperatorTest() {
        super(MySqlServer.shared());
    }
}
