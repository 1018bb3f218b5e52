package outbox.spring;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** A row that business code changes with JPA. */
@Entity
class Account {

    @Id
    private String id = "";

    private int balance;

    protected Account() {}

    Account(String id) {
        this.id = id;
    }

    String id() {
        return id;
    }

    int balance() {
        return balance;
    }

    void deposit(int amount) {
        balance += amount;
    }
}
