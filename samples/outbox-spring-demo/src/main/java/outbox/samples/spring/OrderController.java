package outbox.samples.spring;

import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

import java.net.URI;
import java.util.List;

/** Orders over HTTP, and the events that the listener received. */
@RestController
class OrderController {

    private final OrderService orders;
    private final Shipping shipping;

    OrderController(OrderService orders, Shipping shipping) {
        this.orders = orders;
        this.shipping = shipping;
    }

    @PostMapping("/orders")
    ResponseEntity<Order> place(@RequestBody NewOrder wish, @RequestParam(defaultValue = "false") boolean fail) {
        Order order = orders.place(wish.checkedItem(), wish.quantity(), fail);
        return ResponseEntity.created(URI.create("/orders/" + order.id())).body(order);
    }

    @GetMapping("/orders/{id}")
    Order find(@PathVariable String id) {
        return orders.find(id)
                .orElseThrow(() ->
                        new ResponseStatusException(HttpStatus.NOT_FOUND, "There is no order with the id " + id + "."));
    }

    @GetMapping("/deliveries")
    List<OrderPlaced> deliveries() {
        return shipping.latest();
    }

    /** The request body of a new order. */
    record NewOrder(@Nullable String item, int quantity) {

        /** Returns the item. Throws if the request is not a valid order. */
        String checkedItem() {
            if (item == null || item.isBlank() || item.length() > 200 || quantity < 1) {
                throw new ResponseStatusException(
                        HttpStatus.BAD_REQUEST,
                        "An order has an item of 1 to 200 characters and a quantity of at least 1.");
            }
            return item;
        }
    }
}
