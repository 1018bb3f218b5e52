package outbox.jdbc;

class MariaDbBulkWriteTest extends BulkWriteContract {

    MariaDbBulkWriteTest() {
        super(Databases.MARIADB);
    }
}
