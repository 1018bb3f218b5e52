package outbox.jdbc;

class PostgresBulkWriteTest extends BulkWriteContract {

    PostgresBulkWriteTest() {
        super(Databases.POSTGRES);
    }
}
