package outbox.jdbc;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import outbox.AfterCommitHook;
import outbox.OutboxWriter;
import outbox.dispatch.DispatcherCommitHook;
import outbox.testing.contract.StoreFixture;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

class ForeignHookTest {

    private final StoreFixture db = Databases.H2.fixture();
    private final Node node = new Node(db.dataSource(), db.store()); // for the table outbox_event
    private final AfterCommitHook hook = new DispatcherCommitHook(node.dispatcher);

    @AfterEach
    void close() {
        node.close();
    }

    @Test
    void a_writer_refuses_the_hook_of_another_tables_dispatcher() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new OutboxWriter(node.txContext, new H2EventStore("billing_outbox"), hook))
                .withMessageContaining("outbox_event")
                .withMessageContaining("billing_outbox");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new OutboxWriter(node.txContext, new H2EventStore("public.outbox_events"), hook));
    }

    @Test
    void a_writer_takes_the_hook_of_a_dispatcher_with_another_store_of_the_same_table() {
        for (String name : new String[] {"outbox_event", "OUTBOX_EVENT", "public.outbox_event"}) {
            assertThatCode(() -> new OutboxWriter(node.txContext, new H2EventStore(name), hook))
                    .doesNotThrowAnyException();
        }
    }
}
