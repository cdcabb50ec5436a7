-- The lock tables of Holdfast for PostgreSQL, as of Holdfast 0.1.0.
-- Run it once, for example as a Flyway migration.
-- collate "C": names, owners and ids are compared byte by byte, whatever the collation of the database.

create table distributed_lock (
    name          varchar(255) collate "C"    not null,
    owner         varchar(128) collate "C",
    node_id       varchar(64) collate "C",
    hold_count    int                         not null,
    fencing_token bigint                      not null,
    acquired_at   timestamp(6) with time zone,
    expires_at    timestamp(6) with time zone,
    available_at  timestamp(6) with time zone,
    holder        varchar(255),
    version       bigint                      not null,
    constraint distributed_lock_pkey primary key (name)
);

create table lock_node (
    id          varchar(64) collate "C"     not null,
    started_at  timestamp(6) with time zone not null,
    expires_at  timestamp(6) with time zone not null,
    ended       boolean                     not null,
    description varchar(255),
    version     bigint                      not null,
    constraint lock_node_pkey primary key (id)
);
