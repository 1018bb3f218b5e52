package outbox.jdbc;

class PostgresUpcastTest extends UpcastContract {

    @Override
    Place createPlace(ThreadLocalTxContext tx) {
        return Place.in(Databases.POSTGRES);
    }
}
