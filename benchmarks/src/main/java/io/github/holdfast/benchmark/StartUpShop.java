package io.github.holdfast.benchmark;

import jakarta.persistence.Entity;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.jdbc.core.JdbcTemplate;

/** A small application without any code for locks. It has locks if the starter is on its class path. */
@SpringBootApplication(proxyBeanMethods = false)
class StartUpShop {

    /**
     * The beginning of the line that the application prints when it is ready. Then follow the milliseconds of the start, its
     * milliseconds on all processors, and the numbers of beans and statements. The first start begins with
     * the JVM.
     */
    static final String READY = "ready ";

    private static final String STATEMENTS = "select sum(execution_count) from information_schema.query_statistics";

    @Entity
    static class Item {

        @Id
        private long id;

        long id() {
            return id;
        }
    }

    interface Items extends JpaRepository<Item, Long> {}

    /**
     * Runs the application until it is ready, once or several times.
     *
     * @param arguments how many times; no argument means once
     */
    public static void main(String[] arguments) {
        System.out.println(READY + start(0, Duration.ZERO));
        int starts = arguments.length == 0 ? 1 : Integer.parseInt(arguments[0]);
        for (int start = 1; start < starts; start++) {
            System.out.println(READY + start(uptime(), cpu()));
        }
    }

    private static String start(long uptimeBefore, Duration cpuBefore) {
        try (ConfigurableApplicationContext context = new SpringApplicationBuilder(StartUpShop.class)
                .properties(
                        "spring.datasource.url=jdbc:h2:mem:shop;QUERY_STATISTICS=TRUE;QUERY_STATISTICS_MAX_ENTRIES=10000",
                        "spring.jpa.hibernate.ddl-auto=update",
                        "spring.main.banner-mode=off",
                        "logging.level.root=warn")
                .run()) {
            long millis = uptime() - uptimeBefore;
            Duration cpu = cpu().minus(cpuBefore);
            // Waits for Hibernate, which may start on another thread.
            context.getBean(EntityManagerFactory.class).getMetamodel();
            Long statements = context.getBean(JdbcTemplate.class).queryForObject(STATEMENTS, Long.class);
            return millis + " " + cpu.toMillis() + " " + context.getBeanDefinitionCount() + " " + statements;
        }
    }

    /** The milliseconds since the start of the JVM. */
    private static long uptime() {
        return ManagementFactory.getRuntimeMXBean().getUptime();
    }

    private static Duration cpu() {
        return ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO);
    }
}
