package io.github.holdfast.autoconfigure;

import java.lang.annotation.Annotation;
import java.util.Arrays;
import java.util.List;
import javax.sql.DataSource;
import org.springframework.beans.factory.ListableBeanFactory;

/** Finds data sources, also those that are no candidates for injection by type alone. */
final class DataSourceBeans {

    private DataSourceBeans() {}

    /** Returns the names of those that are marked so; makes no bean. */
    static List<String> annotatedWith(Class<? extends Annotation> mark, ListableBeanFactory beans) {
        return Arrays.stream(beans.getBeanNamesForType(DataSource.class, true, false))
                .filter(name -> beans.findAnnotationOnBean(name, mark, false) != null)
                .toList();
    }
}
