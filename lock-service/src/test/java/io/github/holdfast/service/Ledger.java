package io.github.holdfast.service;

import io.github.holdfast.test.Database;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * A number that is read and then written in one transaction, beside a journal of what was written under which fencing
 * token. The row has no version and the journal no key: nothing but a lock keeps an update from being lost.
 */
final class Ledger {

    private static final int ONLY = 1;

    private final JdbcTemplate jdbc;

    private Ledger(JdbcTemplate jdbc) {
        this.jdbc = jdbc;
    }

    /** The number. */
    @Entity
    @Table(name = "ledger_account")
    static class Account {

        @Id
        private int id;

        private long amount;
    }

    /** What a transaction has written, under which token, in which process. */
    record Entry(long amount, long token, long process) {}

    /** Creates the tables; connections to look at them come from a pool, which is closed with the database. */
    static Ledger create(Database database) {
        database.execute(
                "drop table if exists ledger_account",
                "drop table if exists ledger_entry",
                "create table ledger_account (id int primary key, amount bigint not null)",
                "create table ledger_entry (amount bigint not null, token bigint not null, process bigint not null)");
        Ledger ledger = new Ledger(new JdbcTemplate(database.pool(pool -> pool.setMaximumPoolSize(1))));
        ledger.clear();
        return ledger;
    }

    void clear() {
        jdbc.update("delete from ledger_entry");
        jdbc.update("delete from ledger_account");
        jdbc.update("insert into ledger_account (id, amount) values (?, 0)", ONLY);
    }

    /** Adds one to the number, in the transaction of this entity manager; the number itself is written at its flush. */
    static void post(EntityManager em, long token, Runnable betweenReadAndWrite) {
        Account account = read(em);
        long amount = account.amount + 1;
        betweenReadAndWrite.run();
        account.amount = amount;
        note(em, amount, token);
    }

    /** Reads the number into the persistence context, where it stays as it was read. */
    static Account read(EntityManager em) {
        return Objects.requireNonNull(em.find(Account.class, ONLY));
    }

    /** Adds one to the number that was read, but only in the journal. */
    static void noteOnly(EntityManager em, long token) {
        note(em, read(em).amount + 1, token);
    }

    private static void note(EntityManager em, long amount, long token) {
        em.createNativeQuery("insert into ledger_entry (amount, token, process) values (:amount, :token, :process)")
                .setParameter("amount", amount)
                .setParameter("token", token)
                .setParameter("process", ProcessHandle.current().pid())
                .executeUpdate();
    }

    long amount() {
        return Objects.requireNonNull(
                jdbc.queryForObject("select amount from ledger_account where id = ?", Long.class, ONLY));
    }

    /** What was written, in the order of the amounts. */
    List<Entry> entries() {
        return jdbc.query(
                "select amount, token, process from ledger_entry order by amount, token",
                (row, number) -> new Entry(row.getLong(1), row.getLong(2), row.getLong(3)));
    }

    /** Under how many tokens was written. */
    long grants() {
        return entries().stream().mapToLong(Entry::token).distinct().count();
    }

    /** How often one process has written after another. */
    long handovers() {
        List<Entry> entries = entries();
        return IntStream.range(1, entries.size())
                .filter(i -> entries.get(i).process() != entries.get(i - 1).process())
                .count();
    }

    /** Whether somebody has written under a newer token than this. */
    boolean isPast(long token) {
        return Objects.requireNonNull(jdbc.queryForObject(
                "select exists (select 1 from ledger_entry where token > ?)", Boolean.class, token));
    }

    /** What is wrong after so many commits were acknowledged; empty if each of them counts, in the order of the tokens. */
    List<String> faults(long commits) {
        List<Entry> entries = entries();
        List<String> faults = new ArrayList<>();
        if (amount() != commits) {
            faults.add("%d commits, but the number is %d".formatted(commits, amount()));
        }
        if (!entries.stream()
                .map(Entry::amount)
                .toList()
                .equals(LongStream.rangeClosed(1, commits).boxed().toList())) {
            faults.add("the journal has gaps or duplicates");
        }
        IntStream.range(1, entries.size())
                .filter(i -> entries.get(i).token() < entries.get(i - 1).token())
                .mapToObj(i -> entries.get(i) + " after " + entries.get(i - 1))
                .forEach(faults::add);
        return faults;
    }
}
