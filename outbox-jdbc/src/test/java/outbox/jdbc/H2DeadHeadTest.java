package outbox.jdbc;

class H2DeadHeadTest extends DeadHeadContract {

    H2DeadHeadTest() {
        super(Databases.H2);
    }
}
