create table if not exists orders (id bigint not null primary key);
