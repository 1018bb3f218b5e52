package outbox.spring;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.event.TransactionPhase;
import org.springframework.transaction.event.TransactionalEventListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import outbox.TransactionStateException;

import java.util.ArrayList;
import java.util.List;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A write after the commit is too late for the transaction. It is refused, unless it has a transaction of its own.
 */
@ParameterizedClass(name = "gathering = {0}")
@ValueSource(booleans = {false, true})
class LateWriteTest {

    private final SpringRig rig;
    private final List<Exception> refusals = new ArrayList<>();

    LateWriteTest(boolean gathering) {
        rig = new SpringRig(gathering);
    }

    @AfterEach
    void close() {
        rig.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_write_after_the_commit_is_refused(boolean wroteBefore) {
        rig.tx.executeWithoutResult(status -> {
            writeFirst(wroteBefore);
            register(new TransactionSynchronization() {
                @Override
                public void afterCommit() {
                    tryToWrite();
                }
            });
        });

        assertRefused(wroteBefore);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_write_after_the_commit_is_refused_wherever_the_callback_was_registered(boolean wroteBefore) {
        rig.tx.executeWithoutResult(status -> {
            register(new TransactionSynchronization() {
                @Override
                public void afterCommit() {
                    tryToWrite();
                }
            });
            writeFirst(wroteBefore);
        });

        assertRefused(wroteBefore);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_write_after_completion_is_refused(boolean wroteBefore) {
        rig.tx.executeWithoutResult(status -> {
            writeFirst(wroteBefore);
            register(new TransactionSynchronization() {
                @Override
                public void afterCompletion(int outcome) {
                    tryToWrite();
                }
            });
        });

        assertRefused(wroteBefore);
    }

    @Test
    void a_write_after_a_rollback_is_refused() {
        rig.tx.executeWithoutResult(status -> {
            register(new TransactionSynchronization() {
                @Override
                public void afterCompletion(int outcome) {
                    tryToWrite();
                }
            });
            status.setRollbackOnly();
        });

        assertRefused(false);
    }

    @Test
    void a_write_just_before_the_commit_is_in_time() {
        rig.tx.executeWithoutResult(status -> register(new TransactionSynchronization() {
            @Override
            public void beforeCommit(boolean readOnly) {
                rig.write("in time");
            }
        }));

        assertThat(rig.stored()).containsExactly("in time");
        assertThat(rig.told).containsExactly("in time");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_transaction_of_its_own_may_write_after_the_commit(boolean wroteBefore) {
        rig.tx.executeWithoutResult(status -> {
            writeFirst(wroteBefore);
            register(new TransactionSynchronization() {
                @Override
                public void afterCommit() {
                    rig.tx(TransactionDefinition.PROPAGATION_REQUIRES_NEW).executeWithoutResult(own -> {
                        rig.write("own");
                        rig.write("own too");
                    });
                    tryToWrite();
                }
            });
        });

        assertThat(refusals).hasSize(1);
        assertThat(rig.stored()).contains("own", "own too").doesNotContain("late");
        assertThat(rig.told).contains("own", "own too");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void the_next_transaction_of_the_thread_is_not_affected(boolean wroteBefore) {
        a_write_after_the_commit_is_refused(wroteBefore);

        rig.tx.executeWithoutResult(status -> rig.write("next"));

        assertThat(rig.told).contains("next");
    }

    // ---- the same with annotations ----

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_transactional_event_listener_after_the_commit_is_refused(boolean wroteBefore) {
        try (AnnotationConfigApplicationContext spring = spring()) {
            spring.getBean(Business.class).change(wroteBefore);
        }

        assertRefused(wroteBefore);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_transactional_event_listener_with_a_transaction_of_its_own_may_write(boolean wroteBefore) {
        try (AnnotationConfigApplicationContext spring = spring()) {
            spring.getBean(Business.class).changeAndAnswer(wroteBefore);
        }

        assertThat(rig.stored()).contains("answer");
        assertThat(rig.told).contains("answer");
    }

    @Test
    void a_transactional_method_writes_and_an_exception_takes_it_back() {
        try (AnnotationConfigApplicationContext spring = spring()) {
            Business business = spring.getBean(Business.class);

            business.write("kept");
            try {
                business.writeAndFail("lost");
            } catch (IllegalStateException e) {
                refusals.add(e);
            }
        }

        assertThat(refusals).hasSize(1);
        assertThat(rig.stored()).containsExactly("kept");
        assertThat(rig.told).containsExactly("kept");
    }

    private void writeFirst(boolean doIt) {
        if (doIt) {
            rig.write("first");
        }
    }

    private void tryToWrite() {
        try {
            rig.write("late");
        } catch (TransactionStateException e) {
            refusals.add(e);
        }
    }

    private static void register(TransactionSynchronization synchronization) {
        TransactionSynchronizationManager.registerSynchronization(synchronization);
    }

    private void assertRefused(boolean wroteBefore) {
        assertThat(refusals)
                .singleElement()
                .satisfies(refusal -> assertThat(refusal).hasMessageContaining("No transaction"));
        assertThat(rig.stored()).isEqualTo(wroteBefore ? List.of("first") : List.of());
        assertThat(rig.told).isEqualTo(wroteBefore ? List.of("first") : List.of());
    }

    private AnnotationConfigApplicationContext spring() {
        AnnotationConfigApplicationContext spring = new AnnotationConfigApplicationContext();
        spring.registerBean(LateWriteTest.class, () -> this);
        spring.register(Transactions.class);
        spring.refresh();
        return spring;
    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement(proxyTargetClass = true)
    static class Transactions {

        @Bean
        PlatformTransactionManager transactionManager(LateWriteTest test) {
            return test.rig.manager;
        }

        @Bean
        Business business(LateWriteTest test, ApplicationEventPublisher publisher) {
            return new Business(test, publisher);
        }

        @Bean
        Reactions reactions(LateWriteTest test) {
            return new Reactions(test);
        }
    }

    record Changed() {}

    record Asked() {}

    static class Business {

        private final LateWriteTest test;
        private final ApplicationEventPublisher publisher;

        Business(LateWriteTest test, ApplicationEventPublisher publisher) {
            this.test = test;
            this.publisher = publisher;
        }

        @Transactional
        public void write(String eventType) {
            test.rig.write(eventType);
        }

        @Transactional
        public void writeAndFail(String eventType) {
            test.rig.write(eventType);
            throw new IllegalStateException("no");
        }

        @Transactional
        public void change(boolean writesFirst) {
            test.writeFirst(writesFirst);
            publisher.publishEvent(new Changed());
        }

        @Transactional
        public void changeAndAnswer(boolean writesFirst) {
            test.writeFirst(writesFirst);
            publisher.publishEvent(new Asked());
        }
    }

    static class Reactions {

        private final LateWriteTest test;

        Reactions(LateWriteTest test) {
            this.test = test;
        }

        @TransactionalEventListener(phase = TransactionPhase.AFTER_COMMIT)
        public void on(Changed event) {
            test.tryToWrite();
        }

        @Transactional(propagation = Propagation.REQUIRES_NEW)
        @TransactionalEventListener(phase = TransactionPhase.AFTER_COMMIT)
        public void on(Asked event) {
            test.rig.write("answer");
        }
    }
}
