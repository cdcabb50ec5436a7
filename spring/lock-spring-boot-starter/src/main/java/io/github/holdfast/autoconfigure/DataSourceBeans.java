package io.github.holdfast.autoconfigure;

import java.lang.annotation.Annotation;
import java.util.Arrays;
import java.util.List;
import javax.sql.DataSource;
import org.springframework.beans.factory.ListableBeanFactory;

/** Finds data source beans, including those that are not default candidates for injection. */
final class DataSourceBeans {

    private DataSourceBeans() {}

    /** Returns the names of the data source beans with this annotation; creates no bean. */
    static List<String> annotatedWith(Class<? extends Annotation> mark, ListableBeanFactory beans) {
        return Arrays.stream(beans.getBeanNamesForType(DataSource.class, true, false))
                .filter(name -> beans.findAnnotationOnBean(name, mark, false) != null)
                .toList();
    }
}
