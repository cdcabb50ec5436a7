package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import com.example.shop.Order;
import com.example.shop.OrderRepository;
import com.example.shop.Shop;
import io.github.holdfast.lock.LockHandle;
import io.github.holdfast.lock.LockRequest;
import io.github.holdfast.service.LockService;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.data.jpa.test.autoconfigure.DataJpaTest;
import org.springframework.test.context.ContextConfiguration;

/**
 * What an application tests with Spring Boot's slice for JPA has the locks, in the embedded database that takes the place of its
 * own; also with a pool for the locks.
 */
@DataJpaTest(
        properties = {
            "spring.liquibase.change-log=classpath:com/example/shop/changelog.xml",
            "spring.datasource.url=jdbc:postgresql://production.example/shop",
            "holdfast.datasource.maximum-pool-size=2"
        })
@ContextConfiguration(classes = Shop.class)
class DataJpaSliceTest {

    @Autowired
    private LockService locks;

    @Autowired
    private OrderRepository orders;

    @Test
    void locksAreThere() throws Exception {
        try (LockHandle lock = locks.acquire(LockRequest.of("order:1").requireFence())) {
            orders.saveAndFlush(new Order(1));
            assertThat(lock.isFenced()).isTrue();
        }
    }
}
