/** Real servers for tests: databases, a connection pooler and RabbitMQ nodes, to start, kill, freeze and restart. */
@NullMarked
package outbox.testing.server;

import org.jspecify.annotations.NullMarked;
