package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Test;
import outbox.testing.fault.FaultProxy;
import outbox.testing.server.DatabaseServer;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** The inbox contract on servers where the network can lose the reply to a commit. */
abstract class ServerInboxContract extends InboxContract {

    private final DatabaseServer server;

    ServerInboxContract(Databases database, DatabaseServer server) {
        super(database);
        this.server = server;
    }

    @Test
    void copies_take_effect_once_though_answers_to_commits_are_lost() throws Exception {
        List<String> ids = new ArrayList<>();
        AtomicInteger sprung = new AtomicInteger();
        AtomicBoolean over = new AtomicBoolean();
        try (FaultProxy proxy = FaultProxy.to(server);
                HikariDataSource pool = Databases.newPool(proxy.through(withCommitsAsText(url())), THREADS, true)) {
            JdbcInbox shaky = inboxOn(pool).build();
            armAgain(proxy, sprung, over);

            // the threads determine how many commits pass before the fault is armed again
            do {
                List<String> more = ids(40);
                ids.addAll(more);
                onAllThreads(() -> {
                    for (String id : more) {
                        untilAnswered(() -> shaky.handle("billing", id, effect(id)));
                    }
                });
            } while (sprung.get() < 4);
            over.set(true);
            proxy.heal();
        }

        assertEachTookEffectOnce(ids);
    }

    /** Loses the reply to a commit, then a commit before it reaches the server, and so on, up to twenty times. */
    private void armAgain(FaultProxy proxy, AtomicInteger sprung, AtomicBoolean over) {
        CompletableFuture<Void> trap =
                sprung.get() % 2 == 0 ? proxy.swallowReplyAfter("COMMIT") : proxy.cutBefore("COMMIT");
        trap.thenRunAsync(() -> {
            if (sprung.incrementAndGet() < 20 && !over.get()) {
                armAgain(proxy, sprung, over);
            }
        });
    }

    private String url() {
        return ((HikariDataSource) db.dataSource()).getJdbcUrl();
    }

    /**
     * Otherwise the PostgreSQL driver sends the text only once per connection, and the proxy searches for that text.
     */
    private static String withCommitsAsText(String url) {
        return url.startsWith("jdbc:postgresql:") ? url + (url.contains("?") ? "&" : "?") + "prepareThreshold=0" : url;
    }
}
