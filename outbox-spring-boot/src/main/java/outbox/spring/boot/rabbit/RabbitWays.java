package outbox.spring.boot.rabbit;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.core.annotation.AnnotatedElementUtils;
import outbox.spring.OutboxTransport;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Finds the routes to RabbitMQ: first those of the properties, then those of annotations that no property replaces.
 */
final class RabbitWays {

    private final ConfigurableListableBeanFactory beans;

    RabbitWays(ConfigurableListableBeanFactory beans) {
        this.beans = beans;
    }

    List<RabbitWay> find(OutboxRabbitProperties settings) {
        List<RabbitWay> configured = new ArrayList<>();
        for (int i = 0; i < settings.routes().size(); i++) {
            configured.add(of(settings.routes().get(i), OutboxRabbitProperties.PREFIX + ".routes[" + i + "]"));
        }
        List<RabbitWay> all = new ArrayList<>(configured);
        for (String bean : annotatedBeans()) {
            for (OutboxTransport route : routesOf(bean)) {
                all.add(of(route, configured, "@OutboxTransport of bean " + bean));
            }
        }
        return all.stream().filter(way -> !way.types().isEmpty()).toList();
    }

    private static RabbitWay of(OutboxRabbitProperties.Route route, String origin) {
        return new RabbitWay(
                route.type(),
                route.aggregate(),
                route.outbox(),
                new EventTemplate(String.valueOf(route.exchange())), // not null, checked by the properties
                new EventTemplate(route.routingKey()),
                origin);
    }

    private RabbitWay of(OutboxTransport route, List<RabbitWay> configured, String origin) {
        List<String> types = new ArrayList<>();
        for (String type : route.type()) {
            types.add(resolved(type));
        }
        if (types.isEmpty()) {
            throw new IllegalStateException(origin + " names no type of event");
        }
        RabbitWay way = new RabbitWay(
                types,
                resolved(route.aggregate()),
                resolved(route.outbox()),
                template("exchange", route.exchange(), origin),
                template("routingKey", route.routingKey(), origin),
                origin);
        types.removeIf(type -> way.meetsAny(configured, type));
        return way;
    }

    private EventTemplate template(String what, String text, String origin) {
        try {
            return new EventTemplate(resolved(text));
        } catch (IllegalArgumentException e) {
            throw new IllegalStateException(what + " of " + origin + ": " + e.getMessage(), e);
        }
    }

    private String resolved(String text) {
        return String.valueOf(beans.resolveEmbeddedValue(text));
    }

    /** Returns beans with one annotation, and beans with several, which are in a container annotation. */
    private Set<String> annotatedBeans() {
        Set<String> names = new TreeSet<>(List.of(beans.getBeanNamesForAnnotation(OutboxTransport.class)));
        names.addAll(List.of(beans.getBeanNamesForAnnotation(OutboxTransport.Routes.class)));
        return names;
    }

    private Set<OutboxTransport> routesOf(String bean) {
        Class<?> type = beans.getType(bean);
        return type == null
                ? Set.of()
                : AnnotatedElementUtils.findMergedRepeatableAnnotations(type, OutboxTransport.class);
    }
}
