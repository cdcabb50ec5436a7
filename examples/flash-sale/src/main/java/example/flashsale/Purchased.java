package example.flashsale;

/**
 * An event: a customer has bought an item. It counts only if the publishing transaction commits.
 *
 * @param item the name of the item
 * @param customer the name of the customer
 */
record Purchased(String item, String customer) {}
