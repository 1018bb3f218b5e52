package outbox.jdbc;

class H2UpcastTest extends UpcastContract {

    @Override
    Place createPlace(ThreadLocalTxContext tx) {
        return Place.in(Databases.H2);
    }
}
