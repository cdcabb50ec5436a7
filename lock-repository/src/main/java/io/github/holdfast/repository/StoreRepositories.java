package io.github.holdfast.repository;

import jakarta.persistence.EntityManager;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.springframework.data.jpa.repository.query.QueryEnhancerFactories;
import org.springframework.data.jpa.repository.support.JpaRepositoryFactory;
import org.springframework.data.repository.query.DefaultParameters;
import org.springframework.data.repository.query.QueryLookupStrategy;
import org.springframework.data.repository.query.QueryMethod;
import org.springframework.data.repository.query.RepositoryQuery;
import org.springframework.data.repository.query.ValueExpressionDelegate;
import org.springframework.util.ClassUtils;

/**
 * Creates the repositories of a store. A query is parsed when it is first executed. By default, Spring Data parses all queries of a
 * repository when it creates the repository, which took most of the time of an application's start.
 */
final class StoreRepositories extends JpaRepositoryFactory {

    StoreRepositories(EntityManager entityManager) {
        super(entityManager);
        // The proxy of a package-private interface needs the interface's own class loader. By default, Spring Data
        // uses the thread's context class loader.
        setBeanClassLoader(StoreRepositories.class.getClassLoader());
        if (ClassUtils.isPresent(
                "org.springframework.data.jpa.repository.query.QueryEnhancerSelector",
                StoreRepositories.class.getClassLoader())) {
            SpringData4.leaveQueriesUnparsed(this);
        }
    }

    @Override
    protected Optional<QueryLookupStrategy> getQueryLookupStrategy(
            QueryLookupStrategy.@Nullable Key key, ValueExpressionDelegate values) {
        return super.getQueryLookupStrategy(key, values)
                .map(eager -> (method, metadata, projections, named) -> new LazyQuery(
                        new QueryMethod(method, metadata, projections, DefaultParameters::new),
                        () -> eager.resolveQuery(method, metadata, projections, named)));
    }

    private interface Parser {
        RepositoryQuery parse();
    }

    /** A query that is parsed by its first execution. Threads that execute it first at the same time may parse it twice. */
    private static final class LazyQuery implements RepositoryQuery {

        private final QueryMethod method;
        private final Parser parser;
        private volatile @Nullable RepositoryQuery parsed;

        LazyQuery(QueryMethod method, Parser parser) {
            this.method = method;
            this.parser = parser;
        }

        @Override
        public @Nullable Object execute(Object[] arguments) {
            RepositoryQuery query = parsed;
            if (query == null) {
                query = parser.parse();
                MetamodelCache.clear();
                parsed = query;
            }
            return query.execute(arguments);
        }

        @Override
        public QueryMethod getQueryMethod() {
            return method;
        }
    }

    /** Loaded only with Spring Data 4. */
    private static final class SpringData4 {

        /** By default, Spring Data parses every query for sorting and counting. No caller needs that. */
        static void leaveQueriesUnparsed(JpaRepositoryFactory repositories) {
            repositories.setQueryEnhancerSelector(query -> QueryEnhancerFactories.fallback());
        }
    }
}
