package outbox.internal;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import static org.assertj.core.api.Assertions.assertThat;

class UlidTest {

    private static final String CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

    @Test
    void an_id_has_26_characters_of_the_crockford_alphabet() {
        for (int i = 0; i < 1000; i++) {
            assertThat(Ulid.next()).matches("[0-7][" + CROCKFORD + "]{25}");
        }
    }

    @Test
    void a_hundred_thousand_ids_come_in_strict_order() {
        String before = Ulid.next();
        for (int i = 0; i < 100_000; i++) {
            String next = Ulid.next();
            if (next.compareTo(before) <= 0) {
                assertThat(next).isGreaterThan(before);
            }
            before = next;
        }
    }

    @Test
    void an_id_tells_the_millisecond_of_its_making() {
        long before = System.currentTimeMillis();

        long made = millisOf(Ulid.next());

        assertThat(made).isBetween(before, System.currentTimeMillis());
    }

    @Test
    void ids_of_different_milliseconds_differ_in_their_random_part() {
        String one = Ulid.next();
        String other = one;
        while (millisOf(other) == millisOf(one)) {
            other = Ulid.next();
        }

        assertThat(other.substring(10, 20)).isNotEqualTo(one.substring(10, 20));
    }

    @Test
    void threads_never_make_the_same_id() throws Exception {
        int threads = 8;
        int each = 10_000;
        Set<String> ids = ConcurrentHashMap.newKeySet();
        CyclicBarrier together = new CyclicBarrier(threads);
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        List<Callable<Void>> makers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            makers.add(() -> {
                together.await();
                for (int n = 0; n < each; n++) {
                    ids.add(Ulid.next());
                }
                return null;
            });
        }

        for (var maker : executor.invokeAll(makers)) {
            maker.get();
        }
        executor.shutdown();

        assertThat(ids).hasSize(threads * each);
    }

    private static long millisOf(String id) {
        long millis = 0;
        for (char c : id.substring(0, 10).toCharArray()) {
            millis = millis * 32 + CROCKFORD.indexOf(c);
        }
        return millis;
    }
}
