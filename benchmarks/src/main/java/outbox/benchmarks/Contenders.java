package outbox.benchmarks;

import java.util.List;

/** All contenders, in the order of the report. */
final class Contenders {
    static final String OURS = "outbox";
    static final String CONTROL = "outbox-control";
    static final String LIMIT = "limit-update";

    private static final List<Contender> ALL = List.of(
            new NoEvent(),
            new JdbcLimit(JdbcLimit.Variant.UPDATE),
            new JdbcLimit(JdbcLimit.Variant.DELETE),
            new JdbcLimit(JdbcLimit.Variant.PIPELINED),
            new OurOutbox(OurOutbox.Variant.DEFAULTS),
            new OurOutbox(OurOutbox.Variant.DELETE),
            new OurOutbox(OurOutbox.Variant.VIRTUAL),
            new OurOutbox(OurOutbox.Variant.CONTROL),
            new DbScheduler(),
            new Gruelbox(),
            new Namastack(),
            new Modulith());

    private Contenders() {}

    static List<Contender> all() {
        return ALL;
    }

    static Contender named(String name) {
        return ALL.stream()
                .filter(contender -> contender.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("There is no contender " + name));
    }

    static List<String> peers() {
        return ALL.stream().filter(Contender::isPeer).map(Contender::name).toList();
    }
}
