package outbox.jdbc;

class MariaDbUpcastTest extends UpcastContract {

    @Override
    Place createPlace(ThreadLocalTxContext tx) {
        return Place.in(Databases.MARIADB);
    }
}
