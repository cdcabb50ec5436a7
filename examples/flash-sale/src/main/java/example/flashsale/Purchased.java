package example.flashsale;

/**
 * An item was bought, if the transaction commits that this is published in.
 *
 * @param item its name
 * @param customer who bought it
 */
record Purchased(String item, String customer) {}
