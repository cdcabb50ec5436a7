package io.github.holdfast.annotation;

import io.github.holdfast.lock.LockListener;
import io.github.holdfast.lock.ReleaseOutcome;
import jakarta.persistence.EntityManager;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.annotation.Transactional;

/** Beans with both annotations, in every way to combine them. */
@Configuration(proxyBeanMethods = false)
class Tills {

    interface Till {

        /** Reads a number and writes the next one: right only if nobody else does the same meanwhile. */
        void sell();

        void fail();
    }

    abstract static class OneMore implements Till {

        private final EntityManager entityManager;

        OneMore(EntityManager entityManager) {
            this.entityManager = entityManager;
        }

        void sellOne() {
            Number sold = (Number)
                    entityManager.createNativeQuery("select sold from till").getSingleResult();
            entityManager
                    .createNativeQuery("update till set sold = ?1")
                    .setParameter(1, sold.intValue() + 1)
                    .executeUpdate();
        }
    }

    static class Above extends OneMore {

        Above(EntityManager entityManager) {
            super(entityManager);
        }

        @Override
        @Locked("till-above")
        @Transactional
        public void sell() {
            sellOne();
        }

        @Override
        @Locked("till-above")
        @Transactional
        public void fail() {
            throw new IllegalArgumentException("no change");
        }
    }

    static class Below extends OneMore {

        Below(EntityManager entityManager) {
            super(entityManager);
        }

        @Override
        @Transactional
        @Locked("till-below")
        public void sell() {
            sellOne();
        }

        @Override
        @Transactional
        @Locked("till-below")
        public void fail() {
            throw new IllegalArgumentException("no change");
        }
    }

    @Transactional
    @Locked("till-onClasses")
    static class OnClasses extends OneMore {

        OnClasses(EntityManager entityManager) {
            super(entityManager);
        }

        @Override
        public void sell() {
            sellOne();
        }

        @Override
        public void fail() {
            throw new IllegalArgumentException("no change");
        }
    }

    @Locked("till-lockOnClass")
    static class LockOnClass extends OneMore {

        LockOnClass(EntityManager entityManager) {
            super(entityManager);
        }

        @Override
        @Transactional
        public void sell() {
            sellOne();
        }

        @Override
        @Transactional
        public void fail() {
            throw new IllegalArgumentException("no change");
        }
    }

    @Transactional
    static class TransactionOnClass extends OneMore {

        TransactionOnClass(EntityManager entityManager) {
            super(entityManager);
        }

        @Override
        @Locked("till-transactionOnClass")
        public void sell() {
            sellOne();
        }

        @Override
        @Locked("till-transactionOnClass")
        public void fail() {
            throw new IllegalArgumentException("no change");
        }
    }

    static class Limiting extends OneMore {

        Limiting(EntityManager entityManager) {
            super(entityManager);
        }

        @Override
        @Limited(name = "till-limiting", limit = "1")
        @Transactional
        public void sell() {
            sellOne();
        }

        @Override
        @Limited(name = "till-limiting", limit = "1")
        @Transactional
        public void fail() {
            throw new IllegalArgumentException("no change");
        }
    }

    /** More permits than tellers: the lock excludes the others. */
    @Limited(name = "till-both-permits", limit = "5")
    @Locked("till-both")
    static class Both extends OneMore {

        Both(EntityManager entityManager) {
            super(entityManager);
        }

        @Override
        @Transactional
        public void sell() {
            sellOne();
        }

        @Override
        @Transactional
        public void fail() {
            throw new IllegalArgumentException("no change");
        }
    }

    static class Office {

        interface Work {
            void run() throws Exception;
        }

        @Transactional
        public void during(Work work) throws Exception {
            work.run();
        }
    }

    /** What happened, in order. */
    static class Events implements LockListener, TransactionExecutionListener {

        private final List<String> told = new CopyOnWriteArrayList<>();

        List<String> told() {
            return told;
        }

        @Override
        public void acquired(String lockName, long fencingToken, Duration waited) {
            told.add("acquired");
        }

        @Override
        public void released(String lockName, long fencingToken, Duration held, ReleaseOutcome outcome) {
            told.add("released");
        }

        @Override
        public void afterBegin(TransactionExecution transaction, @Nullable Throwable beginFailure) {
            told.add("begun");
        }

        @Override
        public void afterCommit(TransactionExecution transaction, @Nullable Throwable commitFailure) {
            told.add("committed");
        }

        @Override
        public void afterRollback(TransactionExecution transaction, @Nullable Throwable rollbackFailure) {
            told.add("rolled back");
        }
    }

    @Bean
    Events events() {
        return new Events();
    }

    /** The lock service adds itself to the same list. */
    @Bean
    InitializingBean listening(JpaTransactionManager transactions, Events events) {
        return () -> transactions.addListener(events);
    }

    @Bean
    Till above(EntityManager entityManager) {
        return new Above(entityManager);
    }

    @Bean
    Till below(EntityManager entityManager) {
        return new Below(entityManager);
    }

    @Bean
    Till onClasses(EntityManager entityManager) {
        return new OnClasses(entityManager);
    }

    @Bean
    Till lockOnClass(EntityManager entityManager) {
        return new LockOnClass(entityManager);
    }

    @Bean
    Till transactionOnClass(EntityManager entityManager) {
        return new TransactionOnClass(entityManager);
    }

    @Bean
    Till limiting(EntityManager entityManager) {
        return new Limiting(entityManager);
    }

    @Bean
    Till both(EntityManager entityManager) {
        return new Both(entityManager);
    }

    @Bean
    Office office() {
        return new Office();
    }
}
