package outbox.benchmarks;

import outbox.benchmarks.Results.Spread;

import java.util.List;

/** Throughput as bars, one group per workload. In a group, the longest bar has the full length. */
final class Chart {
    private static final int WIDTH = 760;
    private static final int LABEL = 150;
    private static final int BAR = 420;
    private static final int ROW = 20;
    private static final int HEAD = 34;

    private final Product product;
    private final List<Workload> workloads;
    private final Results results;

    Chart(Product product, List<Workload> workloads, Results results) {
        this.product = product;
        this.workloads = workloads;
        this.results = results;
    }

    String svg() {
        StringBuilder body = new StringBuilder();
        int y = 30;
        for (Workload workload : workloads) {
            List<String> names = workload.contenders().stream()
                    .filter(name -> rate(workload, name).isKnown())
                    .toList();
            if (!names.isEmpty()) {
                y = group(body, workload, names, y);
            }
        }
        return """
                <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %1$d %2$d" width="%1$d" height="%2$d" font-family="sans-serif" font-size="12">
                <rect width="%1$d" height="%2$d" fill="#ffffff"/>
                <text x="10" y="20" font-size="15" font-weight="bold">Per second on %3$s, median of the rounds</text>
                %4$s</svg>
                """.formatted(WIDTH, y + 10, product.title(), body);
    }

    private int group(StringBuilder body, Workload workload, List<String> names, int top) {
        int y = top + HEAD;
        double longest = names.stream()
                .mapToDouble(name -> rate(workload, name).median())
                .max()
                .orElse(1);
        body.append("<text x=\"10\" y=\"%d\" font-weight=\"bold\">%s: %s</text>%n"
                .formatted(y - 12, workload.id(), workload.title()));
        for (String name : names) {
            double rate = rate(workload, name).median();
            Spread ratio = results.ratio(Metric.RATE, workload.id(), name, workload.id(), Contenders.LIMIT);
            String value =
                    Text.number(rate) + (ratio.isKnown() ? "  (× %s)".formatted(Text.number(ratio.median())) : "");
            double length = Math.max(1, rate / longest * BAR);
            body.append("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>%n".formatted(LABEL - 6, y + 10, name));
            body.append("<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"14\" fill=\"%s\"/>%n"
                    .formatted(LABEL, y, length, colour(name)));
            body.append("<text x=\"%.1f\" y=\"%d\">%s</text>%n".formatted(LABEL + length + 6, y + 11, value));
            y += ROW;
        }
        return y;
    }

    private Spread rate(Workload workload, String name) {
        return results.spread(workload.id(), name, Metric.RATE);
    }

    private static String colour(String contender) {
        if (contender.startsWith("outbox")) {
            return "#1f6feb";
        }
        return Contenders.peers().contains(contender) ? "#b0793a" : "#9aa4b0";
    }
}
