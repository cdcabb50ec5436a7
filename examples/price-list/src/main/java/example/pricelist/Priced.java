package example.pricelist;

/**
 * An event: an order has read its prices, and is not yet committed.
 *
 * @param customer the name of the customer
 */
record Priced(String customer) {}
