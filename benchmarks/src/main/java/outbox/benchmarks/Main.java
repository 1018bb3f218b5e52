package outbox.benchmarks;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Runs the requested measurements, writes the report and prints the results against the targets. */
public final class Main {
    /**
     * The number of warm-up runs of each workload. The compiler first optimizes for the frequent case of W10 and
     * compiles again when the rare case occurs: the rate rose over the first 150,000 events.
     */
    private static final Map<String, Integer> WARM_UP = Map.of("W1", 1, "W2", 1, "W3", 1, "W10", 4);

    private Main() {}

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.ROOT); // the same number format on all machines
        Options options;
        try {
            options = Options.parse(arguments);
        } catch (IllegalArgumentException e) {
            System.err.println("benchmarks/run: " + e.getMessage());
            System.exit(2);
            return;
        }
        for (Product product : options.products()) {
            try (BenchServer server = BenchServer.start(product)) {
                System.out.printf("%s %s%n", product.title(), server.version());
                Results results = measure(options, server);
                Report report = new Report(options, product, server.version(), server.settings(), results);
                report.write();
                System.out.println();
                System.out.println(Acceptance.table(product, results));
                System.out.println("Written to " + report.file());
            }
        }
        System.exit(0); // ends threads that a contender left running
    }

    private static Results measure(Options options, BenchServer server) {
        List<Workload> workloads =
                Workloads.of(options.sizes()).stream().filter(options::wants).toList();
        if (!options.quick()) {
            warmUp(options, server, workloads);
        }
        Results results = new Results();
        for (int round = 1; round <= options.rounds(); round++) {
            for (int i = 0; i < workloads.size(); i++) {
                Workload workload = workloads.get(i);
                List<Contender> contenders = contenders(options, workload);
                Collections.rotate(contenders, round - 1 + i); // the contenders take turns in being first
                for (Contender contender : contenders) {
                    if (!options.quick()) {
                        run(brief(workload), server, contender, 0);
                    }
                    Measured measured = run(workload, server, contender, round);
                    results.add(measured);
                    System.out.println(Text.progress(measured));
                }
            }
        }
        return results;
    }

    /**
     * Returns a short version of the workload, whose result is not counted. The contenders take turns in one
     * process. The compiler discards assumptions that it made for the previous contender, for example in the driver.
     * Without this run, a measurement of three seconds would also measure the compiler, and more so for a contender
     * with more code.
     */
    private static Workload brief(Workload workload) {
        return Workloads.of(Sizes.BRIEF).stream()
                .filter(small -> small.id().equals(workload.id()))
                .findFirst()
                .orElseThrow();
    }

    private static List<Contender> contenders(Options options, Workload workload) {
        List<Contender> contenders = new ArrayList<>();
        for (String name : workload.contenders()) {
            Contender contender = Contenders.named(name);
            if (options.wants(contender)) {
                contenders.add(contender);
            }
        }
        return contenders;
    }

    /** Runs each contender long enough for the compiler, so that the rounds compare compiled code. */
    private static void warmUp(Options options, BenchServer server, List<Workload> wanted) {
        List<Workload> small = Workloads.of(Sizes.WARM_UP).stream()
                .flatMap(workload -> Collections.nCopies(WARM_UP.getOrDefault(workload.id(), 0), workload).stream())
                .toList();
        for (Contender contender : Contenders.all()) {
            boolean isWanted = wanted.stream()
                    .anyMatch(workload -> contenders(options, workload).contains(contender));
            for (Workload workload : small) {
                if (isWanted && workload.contenders().contains(contender.name())) {
                    Measured measured = run(workload, server, contender, 0);
                    System.out.println("warm-up " + Text.progress(measured));
                }
            }
        }
    }

    /** If a contender fails or its classes are missing, only its own figure is affected. */
    private static Measured run(Workload workload, BenchServer server, Contender contender, int round) {
        try {
            return workload.run(server, contender, round);
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
            return Measured.failed(workload.id(), contender.name(), round, e);
        }
    }
}
