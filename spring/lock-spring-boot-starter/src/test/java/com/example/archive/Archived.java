package com.example.archive;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** An entity of another database. */
@Entity
public class Archived {

    @Id
    private long id;

    protected Archived() {}

    public Archived(long id) {
        this.id = id;
    }

    public long getId() {
        return id;
    }
}
