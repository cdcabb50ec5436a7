create schema north;
create table north.invoice (number bigint not null primary key);
create schema south;
create table south.invoice (number bigint not null primary key);
