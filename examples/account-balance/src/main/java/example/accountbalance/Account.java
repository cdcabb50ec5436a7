package example.accountbalance;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Version;

/** A bank account. Its version makes one of two concurrent changes fail, without any lock. */
@Entity
class Account {

    @Id
    private String owner;

    private long balance;

    @Version
    private long version;

    @SuppressWarnings("NullAway.Init")
    protected Account() {}

    Account(String owner, long balance) {
        this.owner = owner;
        this.balance = balance;
    }

    String owner() {
        return owner;
    }

    long balance() {
        return balance;
    }

    long version() {
        return version;
    }

    void withdraw(long amount) {
        if (amount > balance) {
            throw new IllegalArgumentException(owner + " has " + balance + ", which is less than " + amount);
        }
        balance -= amount;
    }
}
