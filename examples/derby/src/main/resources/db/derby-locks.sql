-- The lock tables of Holdfast for Apache Derby. Times are in UTC. A table with its index is one statement,
-- because Derby's driver executes only one at a time: so the index is that of a constraint.

create table distributed_lock (
    name          varchar(255)                not null,
    owner         varchar(128),
    node_id       varchar(64),
    hold_count    int                         not null,
    fencing_token bigint                      not null,
    acquired_at   timestamp,
    expires_at    timestamp,
    available_at  timestamp,
    holder        varchar(255),
    permits       int,
    wanted_until  timestamp,
    version       bigint                      not null,
    guard_count   bigint                      default 0 not null,
    constraint distributed_lock_pkey primary key (name)
);

create table lock_node (
    id          varchar(64)                 not null,
    started_at  timestamp                   not null,
    expires_at  timestamp                   not null,
    ended       boolean                     not null,
    description varchar(255),
    bell        bigint,
    version     bigint                      not null,
    waits_until timestamp,
    lease_millis bigint not null default 0,
    constraint lock_node_pkey primary key (id)
);

create table lock_audit (
    id            varchar(64)                 not null,
    action        varchar(32)                 not null,
    lock_name     varchar(255)                not null,
    owner         varchar(128),
    node_id       varchar(64),
    holder        varchar(255),
    fencing_token bigint                      not null,
    permits       int,
    done_at       timestamp                   not null,
    done_by       varchar(255)                not null,
    reason        varchar(1000)               not null,
    constraint lock_audit_pkey primary key (id)
);

create table lock_run (
    name          varchar(255)                not null,
    fencing_token bigint                      not null,
    period        bigint,
    node_id       varchar(64),
    holder        varchar(255),
    begun_at      timestamp                   not null,
    ended_at      timestamp,
    status        varchar(16)                 not null,
    error         varchar(1000),
    constraint lock_run_pkey primary key (name, fencing_token),
    constraint lock_run_ended_at unique (ended_at, name, fencing_token)
);

create table lock_holder (
    name          varchar(255)                not null,
    fencing_token bigint                      not null,
    owner         varchar(128)                not null,
    node_id       varchar(64),
    permits       int                         not null,
    acquired_at   timestamp                   not null,
    expires_at    timestamp,
    holder        varchar(255),
    guard_count   bigint                      default 0 not null,
    constraint lock_holder_pkey primary key (name, fencing_token)
);

create table lock_waiter (
    name    varchar(255) not null,
    since   bigint       not null,
    id      varchar(64)  not null,
    node_id varchar(64)  not null,
    mode    varchar(1)   not null,
    permits int          not null,
    fair    boolean      not null,
    holder  varchar(255),
    constraint lock_waiter_pkey primary key (name, since, id)
);
