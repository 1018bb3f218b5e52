package outbox.jdbc;

class MariaDbThreadTriplesTest extends ThreadTriplesContract {

    MariaDbThreadTriplesTest() {
        super(Databases.MARIADB);
    }
}
