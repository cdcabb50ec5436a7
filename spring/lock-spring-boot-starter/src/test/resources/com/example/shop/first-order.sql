insert into orders (id) values (7);
