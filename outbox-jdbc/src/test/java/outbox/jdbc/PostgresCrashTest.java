package outbox.jdbc;

class PostgresCrashTest extends CrashContract {

    PostgresCrashTest() {
        super(Databases.POSTGRES);
    }
}
