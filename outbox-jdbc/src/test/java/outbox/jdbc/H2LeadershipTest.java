package outbox.jdbc;

class H2LeadershipTest extends LeadershipContract {

    H2LeadershipTest() {
        super(Databases.H2);
    }
}
