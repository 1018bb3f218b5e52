package outbox.boot.orders;

import java.util.List;

record OrderCreated(String id, List<String> lines) {}
