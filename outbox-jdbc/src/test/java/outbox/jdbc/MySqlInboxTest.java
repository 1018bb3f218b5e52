package outbox.jdbc;

import outbox.testing.MySqlServer;

class MySqlInboxTest extends ServerInboxContract {

    /** With the byte before it, since there is a commit in autocommit too. */
    MySqlInboxTest() {
        super(Databases.MYSQL, MySqlServer.shared(), "\u0003commit");
    }
}
