package outbox.jdbc;

class PostgresCancelRaceTest extends CancelRaceContract {

    PostgresCancelRaceTest() {
        super(Databases.POSTGRES);
    }
}
