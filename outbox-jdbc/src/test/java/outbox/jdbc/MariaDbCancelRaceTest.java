package outbox.jdbc;

class MariaDbCancelRaceTest extends CancelRaceContract {

    MariaDbCancelRaceTest() {
        super(Databases.MARIADB);
    }
}
