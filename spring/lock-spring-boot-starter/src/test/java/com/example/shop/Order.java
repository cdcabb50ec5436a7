package com.example.shop;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

/** The application's own entity. */
@Entity
@Table(name = "orders")
public class Order {

    @Id
    private long id;

    protected Order() {}

    public Order(long id) {
        this.id = id;
    }

    public long getId() {
        return id;
    }
}
