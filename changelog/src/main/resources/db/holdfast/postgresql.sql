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
    permits       int,
    wanted_until  timestamp(6) with time zone,
    version       bigint                      not null,
    guard_count   bigint                      not null default 0,
    constraint distributed_lock_pkey primary key (name)
);

create table lock_node (
    id          varchar(64) collate "C"     not null,
    started_at  timestamp(6) with time zone not null,
    expires_at  timestamp(6) with time zone not null,
    ended       boolean                     not null,
    description varchar(255),
    bell        bigint,
    version     bigint                      not null,
    waits_until timestamp(6) with time zone,
    lease_millis bigint not null default 0,
    constraint lock_node_pkey primary key (id)
);

create index lock_node_alive on lock_node (id) where not ended;

create table lock_audit (
    id            varchar(64) collate "C"     not null,
    action        varchar(32) collate "C"     not null,
    lock_name     varchar(255) collate "C"    not null,
    owner         varchar(128) collate "C",
    node_id       varchar(64) collate "C",
    holder        varchar(255),
    fencing_token bigint                      not null,
    permits       int,
    done_at       timestamp(6) with time zone not null,
    done_by       varchar(255)                not null,
    reason        varchar(1000)               not null,
    constraint lock_audit_pkey primary key (id)
);

create table lock_run (
    name          varchar(255) collate "C"    not null,
    fencing_token bigint                      not null,
    period        bigint,
    node_id       varchar(64) collate "C",
    holder        varchar(255),
    begun_at      timestamp(6) with time zone not null,
    ended_at      timestamp(6) with time zone,
    status        varchar(16) collate "C"     not null,
    error         varchar(1000),
    constraint lock_run_pkey primary key (name, fencing_token)
);

create index lock_run_ended_at on lock_run (ended_at);

create table lock_holder (
    name          varchar(255) collate "C"    not null,
    fencing_token bigint                      not null,
    owner         varchar(128) collate "C"    not null,
    node_id       varchar(64) collate "C",
    permits       int                         not null,
    acquired_at   timestamp(6) with time zone not null,
    expires_at    timestamp(6) with time zone,
    holder        varchar(255),
    guard_count   bigint                      not null default 0,
    constraint lock_holder_pkey primary key (name, fencing_token)
);

create table lock_waiter (
    name    varchar(255) collate "C" not null,
    since   bigint                   not null,
    id      varchar(64) collate "C"  not null,
    node_id varchar(64) collate "C"  not null,
    mode    varchar(1) collate "C"   not null,
    permits int                      not null,
    fair    boolean                  not null,
    holder  varchar(255),
    constraint lock_waiter_pkey primary key (name, since, id)
);
