package outbox.samples.market;

import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

import java.net.URI;

/** Products over HTTP. */
@RestController
@RequestMapping("/api/products")
class ProductController {

    private final ProductService products;

    ProductController(ProductService products) {
        this.products = products;
    }

    @PostMapping
    ResponseEntity<Product> offer(@RequestBody NewProduct wish) {
        Product product = products.offer(wish);
        return ResponseEntity.created(URI.create("/api/products/" + product.id()))
                .body(product);
    }

    @GetMapping("/{id}")
    Product find(@PathVariable long id) {
        return products.find(id);
    }
}
