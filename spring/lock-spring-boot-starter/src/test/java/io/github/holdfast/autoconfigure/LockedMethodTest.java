package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import com.example.shop.Order;
import com.example.shop.OrderRepository;
import com.example.shop.Shop;
import io.github.holdfast.annotation.Locked;
import io.github.holdfast.lock.LockInfo;
import io.github.holdfast.service.LockService;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** {@link Locked} in an application that has done nothing for it. */
class LockedMethodTest {

    @Test
    void aMethodIsLockedAroundItsTransaction() {
        try (ConfigurableApplicationContext context =
                Application.of(ShopWithDesk.class).run()) {
            Optional<LockInfo> during = context.getBean(Desk.class).take(7);
            assertThat(during).isPresent();
            assertThat(context.getBean(OrderRepository.class).existsById(7L)).isTrue();
            assertThat(context.getBean(LockService.class).find("order:7")).isEmpty();
        }
    }

    @Test
    void withoutHoldfastAnApplicationWithLockedMethodsDoesNotStart() {
        Application disabled = Application.of(ShopWithDesk.class).with("holdfast.enabled=false");
        assertThatIllegalStateException().isThrownBy(disabled::run).withMessageContaining("no LockService");
    }

    @Import({Shop.class, Desk.class})
    static class ShopWithDesk {}

    @Service
    static class Desk {

        private final OrderRepository orders;
        private final Optional<LockService> locks;

        Desk(OrderRepository orders, Optional<LockService> locks) {
            this.orders = orders;
            this.locks = locks;
        }

        @Transactional
        @Locked("order:{#id}")
        public Optional<LockInfo> take(long id) {
            orders.save(new Order(id));
            return locks.flatMap(service -> service.find("order:" + id));
        }
    }
}
