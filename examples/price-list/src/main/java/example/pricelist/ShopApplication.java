package example.pricelist;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** One instance of the shop. */
@SpringBootApplication
class ShopApplication {}
