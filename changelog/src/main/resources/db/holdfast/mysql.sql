-- The lock tables of Holdfast for MySQL 8.0.17 or later, as of Holdfast 0.1.0.
-- Run it once, for example as a Flyway migration.
-- utf8mb4_0900_bin: names, owners and ids are compared byte by byte; in the default collation 'job' = 'JOB'.
-- datetime(6) holds UTC; timestamp would end in 2038 and refuse the hour that summer time skips.

create table distributed_lock (
    name          varchar(255) character set utf8mb4 collate utf8mb4_0900_bin not null,
    owner         varchar(128) character set utf8mb4 collate utf8mb4_0900_bin,
    node_id       varchar(64) character set utf8mb4 collate utf8mb4_0900_bin,
    hold_count    int         not null,
    fencing_token bigint      not null,
    acquired_at   datetime(6),
    expires_at    datetime(6),
    available_at  datetime(6),
    holder        varchar(255) character set utf8mb4,
    permits       int,
    wanted_until  datetime(6),
    version       bigint      not null,
    guard_count   bigint      not null default 0,
    constraint distributed_lock_pkey primary key (name)
) engine = InnoDB;

create table lock_node (
    id          varchar(64) character set utf8mb4 collate utf8mb4_0900_bin not null,
    started_at  datetime(6) not null,
    expires_at  datetime(6) not null,
    ended       bit(1)      not null,
    description varchar(255) character set utf8mb4,
    bell        bigint,
    version     bigint      not null,
    waits_until datetime(6),
    lease_millis bigint not null default 0,
    constraint lock_node_pkey primary key (id)
) engine = InnoDB;

create table lock_audit (
    id            varchar(64) character set utf8mb4 collate utf8mb4_0900_bin not null,
    action        varchar(32) character set utf8mb4 collate utf8mb4_0900_bin not null,
    lock_name     varchar(255) character set utf8mb4 collate utf8mb4_0900_bin not null,
    owner         varchar(128) character set utf8mb4 collate utf8mb4_0900_bin,
    node_id       varchar(64) character set utf8mb4 collate utf8mb4_0900_bin,
    holder        varchar(255) character set utf8mb4,
    fencing_token bigint      not null,
    permits       int,
    done_at       datetime(6) not null,
    done_by       varchar(255) character set utf8mb4 not null,
    reason        varchar(1000) character set utf8mb4 not null,
    constraint lock_audit_pkey primary key (id)
) engine = InnoDB;

create table lock_run (
    name          varchar(255) character set utf8mb4 collate utf8mb4_0900_bin not null,
    fencing_token bigint      not null,
    period        bigint,
    node_id       varchar(64) character set utf8mb4 collate utf8mb4_0900_bin,
    holder        varchar(255) character set utf8mb4,
    begun_at      datetime(6) not null,
    ended_at      datetime(6),
    status        varchar(16) character set utf8mb4 collate utf8mb4_0900_bin not null,
    error         varchar(1000) character set utf8mb4,
    constraint lock_run_pkey primary key (name, fencing_token),
    index lock_run_ended_at (ended_at)
) engine = InnoDB;

create table lock_holder (
    name          varchar(255) character set utf8mb4 collate utf8mb4_0900_bin not null,
    fencing_token bigint      not null,
    owner         varchar(128) character set utf8mb4 collate utf8mb4_0900_bin not null,
    node_id       varchar(64) character set utf8mb4 collate utf8mb4_0900_bin,
    permits       int         not null,
    acquired_at   datetime(6) not null,
    expires_at    datetime(6),
    holder        varchar(255) character set utf8mb4,
    guard_count   bigint      not null default 0,
    constraint lock_holder_pkey primary key (name, fencing_token)
) engine = InnoDB;

create table lock_waiter (
    name    varchar(255) character set utf8mb4 collate utf8mb4_0900_bin not null,
    since   bigint      not null,
    id      varchar(64) character set utf8mb4 collate utf8mb4_0900_bin not null,
    node_id varchar(64) character set utf8mb4 collate utf8mb4_0900_bin not null,
    mode    varchar(1) character set utf8mb4 collate utf8mb4_0900_bin not null,
    permits int         not null,
    fair    bit(1)      not null,
    holder  varchar(255) character set utf8mb4,
    constraint lock_waiter_pkey primary key (name, since, id)
) engine = InnoDB;
