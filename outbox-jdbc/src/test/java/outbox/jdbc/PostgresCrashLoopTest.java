package outbox.jdbc;

class PostgresCrashLoopTest extends CrashLoopContract {

    PostgresCrashLoopTest() {
        super(Databases.POSTGRES);
    }
}
