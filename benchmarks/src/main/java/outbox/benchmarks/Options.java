package outbox.benchmarks;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The options of the command line.
 *
 * @param workloads ids, of which W7 selects all ids that begin with W7; empty for all
 * @param contenders names; empty for all
 */
record Options(
        int rounds, List<String> workloads, List<String> contenders, List<Product> products, boolean quick, Path out) {

    static Options parse(String[] arguments) {
        int rounds = 0;
        List<String> workloads = List.of();
        List<String> contenders = List.of();
        List<Product> products = List.of(Product.values());
        boolean quick = false;
        Path out = null;
        List<String> left = new ArrayList<>(List.of(arguments));
        while (!left.isEmpty()) {
            String option = left.remove(0);
            if (option.equals("--quick")) {
                quick = true;
                continue;
            }
            if (left.isEmpty()) {
                throw new IllegalArgumentException(option + " needs a value, or is unknown; see --help");
            }
            String value = left.remove(0);
            switch (option) {
                case "--rounds" -> rounds = Integer.parseInt(value);
                case "--workloads" -> workloads = List.of(value.split(","));
                case "--contenders" -> contenders = List.of(value.split(","));
                case "--database" -> products = products(value);
                case "--out" -> out = Path.of(value);
                default -> throw new IllegalArgumentException("Unknown option " + option + "; see --help");
            }
        }
        if (rounds == 0) {
            rounds = quick ? 1 : 3;
        }
        if (out == null) {
            out = Path.of(quick ? "benchmarks/target/quick-results" : "docs/benchmarks");
        }
        contenders.forEach(Contenders::named); // throws if a name is unknown
        return new Options(rounds, workloads, contenders, products, quick, out);
    }

    private static List<Product> products(String value) {
        return value.equals("both")
                ? List.of(Product.values())
                : Arrays.stream(Product.values())
                        .filter(product -> product.id().equals(value))
                        .findFirst()
                        .map(List::of)
                        .orElseThrow(() -> new IllegalArgumentException("Unknown database " + value + "; see --help"));
    }

    Sizes sizes() {
        return quick ? Sizes.QUICK : Sizes.FULL;
    }

    boolean wants(Workload workload) {
        return workloads.isEmpty()
                || workloads.stream()
                        .anyMatch(
                                id -> workload.id().equals(id) || workload.id().startsWith(id + "x"));
    }

    boolean wants(Contender contender) {
        return contenders.isEmpty() || contenders.contains(contender.name());
    }
}
