package io.github.holdfast.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.repository.DatabaseSetupException.Problem;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** Each problem has an advice of its own, and none says to do what is done already. */
class SetupAdviceTest {

    @Test
    void eachProblemHasAnAdviceOfItsOwn() {
        for (SchemaManagement management : SchemaManagement.values()) {
            SetupAdvice advice = ofApplication(management);
            Map<String, Problem> advices = new HashMap<>();
            for (Problem problem : Problem.values()) {
                assertThat(advices.put(advice.action(problem), problem))
                        .as("as for %s", problem)
                        .isNull();
            }
        }
    }

    @ParameterizedTest
    @EnumSource
    void namesAProperty(Problem problem) {
        assertThat(ofApplication(SchemaManagement.SQL).action(problem))
                .containsPattern(
                        problem == Problem.MISSING_RIGHT || problem == Problem.COLLATION ? "tables" : "\n    \\w+\\.");
    }

    @ParameterizedTest
    @EnumSource
    void doesNotSayToDoWhatIsDone(Problem problem) {
        assertThat(ofApplication(SchemaManagement.SQL).action(problem)).doesNotContain("management=sql");
        assertThat(ofApplication(SchemaManagement.LIQUIBASE).action(problem)).doesNotContain("management=liquibase");
        assertThat(ofApplication(SchemaManagement.VALIDATE).action(problem)).doesNotContain("management=validate");
    }

    private static SetupAdvice ofApplication(SchemaManagement management) {
        return advice(management, new StaticListableBeanFactory());
    }

    private static SetupAdvice advice(SchemaManagement management, StaticListableBeanFactory beans) {
        return new SetupAdvice(
                TablePlan.chosen(management),
                new LockConnections(beans.getBeanProvider(DataSource.class), beans.getBeanProvider(LockPool.class)));
    }

    @Test
    void namesTheConnectionsOfTheLocks() {
        StaticListableBeanFactory marked =
                new StaticListableBeanFactory(Map.of("locks", new DriverManagerDataSource()));
        StaticListableBeanFactory pooled = new StaticListableBeanFactory();
        try (LockPool pool = LockPool.create(
                new HoldfastProperties.Datasource("jdbc:h2:mem:locks", null, null, 2, Duration.ofSeconds(1)), null)) {
            pooled.addBean("pool", pool);

            assertThat(ofApplication(SchemaManagement.SQL).action(Problem.NOT_REACHABLE))
                    .contains("    spring.datasource.url=");
            assertThat(advice(SchemaManagement.SQL, pooled).action(Problem.NOT_REACHABLE))
                    .contains("    holdfast.datasource.url=");
            assertThat(advice(SchemaManagement.SQL, pooled).action(Problem.EXHAUSTED))
                    .contains("    holdfast.datasource.maximum-pool-size=<more>");
            assertThat(advice(SchemaManagement.SQL, marked).action(Problem.WRONG_PASSWORD))
                    .contains("password of the DataSource bean with @LockDataSource");
            assertThat(advice(SchemaManagement.SQL, marked).action(Problem.OTHER_DATABASE))
                    .contains("remove the annotation");
        }
    }
}
