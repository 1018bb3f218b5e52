package outbox.testing.server;

import outbox.testing.internal.JdbcUrl;

import java.util.function.Supplier;

/** A server that was given by its URL. We use it but do not control its process. */
record GivenServer(Product product, JdbcUrl url) implements ServerHost {
    /** Returns the server that was configured for this product. If there is none, starts one. */
    static ServerHost or(Product product, Supplier<ServerHost> start) {
        return product.givenUrl()
                .<ServerHost>map(url -> new GivenServer(product, url))
                .orElseGet(start);
    }

    @Override
    public long pid() {
        throw refusal("has no process id here");
    }

    @Override
    public void kill() {
        throw refusal("cannot be killed");
    }

    @Override
    public void restart() {
        throw refusal("cannot be restarted");
    }

    @Override
    public void freeze() {
        throw refusal("cannot be frozen");
    }

    @Override
    public void resume() {
        throw refusal("cannot be resumed");
    }

    @Override
    public void close() {
        // the server is not ours, so it keeps running
    }

    private UnsupportedOperationException refusal(String what) {
        return new UnsupportedOperationException(
                "%s at %s was given by its URL and %s; start() a private server for that"
                        .formatted(product.title(), url.withoutParameters(), what));
    }
}
