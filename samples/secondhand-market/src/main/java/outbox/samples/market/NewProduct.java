package outbox.samples.market;

import org.jspecify.annotations.Nullable;

import java.math.BigDecimal;

/** The request body of a new product. Invalid values are refused here. */
record NewProduct(long sellerId, String title, BigDecimal price) {

    private static final BigDecimal HIGHEST = new BigDecimal("99999999.99");

    NewProduct(long sellerId, @Nullable String title, @Nullable BigDecimal price) {
        if (sellerId < 1 || title == null || title.isBlank() || title.length() > 200) {
            throw new InvalidRequestException("a sellerId of at least 1 and a title of 1 to 200 characters are needed");
        }
        if (price == null
                || price.signum() < 1
                || price.compareTo(HIGHEST) > 0
                || price.stripTrailingZeros().scale() > 2) {
            throw new InvalidRequestException("a price above 0, at most " + HIGHEST + ", with two decimals is needed");
        }
        this.sellerId = sellerId;
        this.title = title;
        this.price = price.setScale(2);
    }
}
