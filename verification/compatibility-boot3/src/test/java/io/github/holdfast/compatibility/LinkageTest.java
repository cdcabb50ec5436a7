package io.github.holdfast.compatibility;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.annotation.Locked;
import io.github.holdfast.console.LockConsole;
import io.github.holdfast.contract.LockContract;
import io.github.holdfast.repository.store.LockStore;
import io.github.holdfast.service.LockService;
import java.io.IOException;
import java.net.URL;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The jars were compiled for Hibernate 7 and Spring 7. What they call there is here, too. */
class LinkageTest {

    /** What is called only with Hibernate 7 and Spring Data 4. */
    private static final List<String> ONLY_ON_7 = List.of(
            "io/github/holdfast/repository/HibernateSessions$Since7",
            "io/github/holdfast/repository/jdbc/StoreTransactions$SpringData4",
            "io/github/holdfast/annotation/method/NullableResult$Since7");

    @ParameterizedTest
    @ValueSource(classes = {LockStore.class, LockService.class, Locked.class, LockContract.class, LockConsole.class})
    void everyMethodAndFieldIsThere(Class<?> ofJar) throws IOException {
        Linkage linkage = Linkage.of(jar(ofJar));
        assertThat(linkage.calls()).isNotEmpty();
        assertThat(linkage.missing(ONLY_ON_7)).isEmpty();
    }

    @Test
    void whatIsMissingIsFound() throws IOException {
        assertThat(Linkage.of(jar(LockStore.class)).missing(List.of()))
                .anySatisfy(missing -> assertThat(missing).contains("setQueryEnhancerSelector"))
                .anySatisfy(missing -> assertThat(missing).contains("statelessWithOptions"))
                .allSatisfy(missing -> assertThat(ONLY_ON_7).anyMatch(missing::startsWith));
        assertThat(Linkage.of(jar(Locked.class)).missing(List.of()))
                .anySatisfy(missing -> assertThat(missing).contains("forMethodReturnType"))
                .allSatisfy(missing -> assertThat(ONLY_ON_7).anyMatch(missing::startsWith));
    }

    private static URL jar(Class<?> type) {
        return type.getProtectionDomain().getCodeSource().getLocation();
    }
}
