package outbox.jdbc;

class MySqlBulkWriteTest extends BulkWriteContract {

    MySqlBulkWriteTest() {
        super(Databases.MYSQL);
    }
}
