package outbox.jdbc;

class H2KindsTest extends KindsContract {

    H2KindsTest() {
        super(Databases.H2);
    }
}
