package outbox.samples.market;

import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

import java.net.URI;
import java.util.List;

/** Orders over HTTP, and the history of their events. */
@RestController
@RequestMapping("/api/orders")
class OrderController {

    private final OrderService orders;
    private final EventWays ways;

    OrderController(OrderService orders, EventWays ways) {
        this.orders = orders;
        this.ways = ways;
    }

    @PostMapping
    ResponseEntity<Order> place(@RequestBody NewOrder wish) {
        Order order = orders.place(wish);
        return ResponseEntity.created(URI.create("/api/orders/" + order.id())).body(order);
    }

    @GetMapping("/{id}")
    Order find(@PathVariable long id) {
        return orders.find(id);
    }

    @PostMapping("/{id}/pay")
    Order pay(@PathVariable long id) {
        return orders.pay(id);
    }

    @PostMapping("/{id}/ship")
    Order ship(@PathVariable long id) {
        return orders.ship(id);
    }

    @PostMapping("/{id}/complete")
    Order complete(@PathVariable long id) {
        return orders.complete(id);
    }

    @PostMapping("/{id}/cancel")
    Order cancel(@PathVariable long id) {
        return orders.cancel(id);
    }

    @GetMapping("/{id}/events")
    List<EventWay> events(@PathVariable long id) {
        return ways.of(orders.find(id).id());
    }
}
