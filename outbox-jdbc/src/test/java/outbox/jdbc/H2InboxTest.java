package outbox.jdbc;

class H2InboxTest extends InboxContract {

    H2InboxTest() {
        super(Databases.H2);
    }
}
