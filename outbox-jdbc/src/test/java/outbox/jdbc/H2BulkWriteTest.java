package outbox.jdbc;

class H2BulkWriteTest extends BulkWriteContract {

    H2BulkWriteTest() {
        super(Databases.H2);
    }
}
