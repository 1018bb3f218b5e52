package outbox.samples.market;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.jdbc.support.KeyHolder;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

import java.util.Objects;

/**
 * Offers products and changes their stock. A change succeeds only if it changes one row, so only one of several
 * buyers gets the product.
 */
@Service
class ProductService {

    private static final String INSERT = """
            INSERT INTO products (seller_id, title, price, status, create_time, update_time)
            VALUES (?, ?, ?, 'on_sale', LOCALTIMESTAMP, LOCALTIMESTAMP)
            """;

    private static final String TAKE = """
            UPDATE products
               SET status = 'sold', update_time = LOCALTIMESTAMP
             WHERE id = ?
               AND status = 'on_sale'
            """;

    private static final String RELEASE = """
            UPDATE products
               SET status = 'on_sale', update_time = LOCALTIMESTAMP
             WHERE id = ?
               AND status = 'sold'
            """;

    private static final String RELEASE_VIEW = """
            UPDATE inventory_view
               SET status = 'on_sale', update_time = LOCALTIMESTAMP
             WHERE product_id = ?
            """;

    private final JdbcClient jdbc;

    ProductService(JdbcClient jdbc) {
        this.jdbc = jdbc;
    }

    @Transactional
    public Product offer(NewProduct product) {
        KeyHolder key = new GeneratedKeyHolder();
        jdbc.sql(INSERT)
                .params(product.sellerId(), product.title(), product.price())
                .update(key, "id");
        return find(Objects.requireNonNull(key.getKey()).longValue());
    }

    @Transactional(readOnly = true)
    public Product find(long id) {
        return jdbc.sql("SELECT id, seller_id, title, price, status FROM products WHERE id = ?")
                .param(id)
                .query(Product.class)
                .optional()
                .orElseThrow(() -> new NotFoundException("product", id));
    }

    /** Marks the product as sold, in the transaction of the order. */
    @Transactional(propagation = Propagation.MANDATORY)
    public Product take(long id) {
        int rows = jdbc.sql(TAKE).param(id).update();
        Product product = find(id);
        if (rows != 1) {
            throw new ConflictException("Product " + id + " is not on sale.");
        }
        return product;
    }

    /** Releases the product of a cancelled order, in the transaction that cancelled it. */
    @Transactional(propagation = Propagation.MANDATORY)
    public void release(long id) {
        if (jdbc.sql(RELEASE).param(id).update() != 1) {
            throw new IllegalStateException("Product " + id + " of a pending order is not sold; nothing was changed");
        }
        jdbc.sql(RELEASE_VIEW).param(id).update();
    }
}
