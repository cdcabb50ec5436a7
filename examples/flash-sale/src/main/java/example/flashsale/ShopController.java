package example.flashsale;

import io.github.holdfast.service.LockLostException;
import io.github.holdfast.service.LockNotAcquiredException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.ProblemDetail;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** Tells customers what became of their purchase. Who holds the lock, which the exceptions also say, is none of their business. */
@RestController
class ShopController {

    private static final String RETRY_AFTER_SECONDS = "1";

    private final ItemRepository items;
    private final Purchases purchases;

    ShopController(ItemRepository items, Purchases purchases) {
        this.items = items;
        this.purchases = purchases;
    }

    @PostMapping("/items/{item}/purchases")
    @ResponseStatus(HttpStatus.CREATED)
    void buy(@PathVariable String item, @RequestParam String customer) {
        // Before its lock is asked for: each name that is locked has a row, and visitors are not to choose the names.
        if (!items.existsById(item)) {
            throw new ResponseStatusException(HttpStatus.NOT_FOUND);
        }
        purchases.buy(item, customer);
    }

    @ExceptionHandler
    ProblemDetail soldOut(Item.SoldOutException refused) {
        return ProblemDetail.forStatusAndDetail(HttpStatus.CONFLICT, refused.getMessage());
    }

    @ExceptionHandler
    ResponseEntity<ProblemDetail> tooManyCustomers(LockNotAcquiredException refused) {
        return later("Too many customers want the same. Please try again.");
    }

    @ExceptionHandler
    ResponseEntity<ProblemDetail> interrupted(LockLostException lost) {
        return later("Your purchase was interrupted, and nothing was sold to you. Please try again.");
    }

    private static ResponseEntity<ProblemDetail> later(String detail) {
        return ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE)
                .header(HttpHeaders.RETRY_AFTER, RETRY_AFTER_SECONDS)
                .body(ProblemDetail.forStatusAndDetail(HttpStatus.SERVICE_UNAVAILABLE, detail));
    }
}
