package outbox.jdbc;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.Test;
import outbox.testing.DatabaseServer;
import outbox.testing.FaultProxy;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** The promise where the network can lose the answer of a commit. */
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

            do { // how many commits pass before a trap is set again is up to the threads
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

    /** One commit is lost on its way, the next one's answer on its way back, and so on, twenty times. */
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

    /** The driver of PostgreSQL would send the text only once per connection, and the proxy looks for it. */
    private static String withCommitsAsText(String url) {
        return url.startsWith("jdbc:postgresql:") ? url + (url.contains("?") ? "&" : "?") + "prepareThreshold=0" : url;
    }
}
