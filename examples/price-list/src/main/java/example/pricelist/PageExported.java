package example.pricelist;

/**
 * An event: an export has read a page of the price list.
 *
 * @param number the number of the page; 0 is the first
 * @param isLast whether no other page follows
 */
record PageExported(int number, boolean isLast) {

    boolean isFirst() {
        return number == 0;
    }
}
