package io.github.holdfast.autoconfigure;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.holdfast.entity.LockEntity;
import jakarta.persistence.Entity;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.type.filter.AnnotationTypeFilter;

/** The list of entities is kept by hand, because scanning costs time at each start: nothing is missing in it. */
class LockEntitiesTest {

    private static final List<String> LISTED =
            LockEntities.ALL.stream().map(Class::getName).toList();

    @Test
    void allEntitiesAreListed() {
        ClassPathScanningCandidateComponentProvider scanner = new ClassPathScanningCandidateComponentProvider(false);
        scanner.addIncludeFilter(new AnnotationTypeFilter(Entity.class));

        assertThat(scanner.findCandidateComponents(LockEntity.class.getPackageName()))
                .extracting(bean -> bean.getBeanClassName())
                .containsExactlyInAnyOrderElementsOf(LISTED);
    }

    @Test
    void theMappingFileListsTheSame() throws Exception {
        String file = new ClassPathResource("META-INF/holdfast-orm.xml").getContentAsString(UTF_8);

        assertThat(Pattern.compile("<entity class=\"(.+?)\"").matcher(file).results())
                .extracting(match -> match.group(1))
                .containsExactlyElementsOf(LISTED);
    }

    @Test
    void tablesAreKnown() {
        assertThat(LockEntities.tables())
                .containsExactly(
                        "distributed_lock", "lock_node", "lock_audit", "lock_run", "lock_holder", "lock_waiter");
    }
}
