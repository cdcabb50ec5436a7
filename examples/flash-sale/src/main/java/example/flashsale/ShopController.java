package example.flashsale;

import io.github.holdfast.lock.LockLostException;
import io.github.holdfast.lock.LockNotAcquiredException;
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

/**
 * Sells over HTTP, and tells customers the result. It hides the messages of lock exceptions, because they name the lock's holder.
 */
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
        // Checks the item before the lock, because each locked name creates a row. Visitors must not choose these
        // names.
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
