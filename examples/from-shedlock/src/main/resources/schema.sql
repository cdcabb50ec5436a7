-- ShedLock's own table. It can be dropped when the last node with ShedLock's own provider is gone.
create table if not exists shedlock (
    name       varchar(64)  not null primary key,
    lock_until timestamp(3) not null,
    locked_at  timestamp(3) not null,
    locked_by  varchar(255) not null
);

create table if not exists reminder_run (
    id       bigint generated always as identity primary key,
    release  varchar(10)  not null,
    begun_at timestamp(6) not null
);
