create table item (
    name  varchar(50) primary key,
    stock int         not null
);

create table sale (
    id            bigint generated always as identity primary key,
    worker        varchar(50) not null,
    fencing_token bigint,
    waited_millis bigint      not null
);
