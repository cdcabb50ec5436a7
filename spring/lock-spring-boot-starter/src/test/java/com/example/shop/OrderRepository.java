package com.example.shop;

import org.springframework.data.jpa.repository.JpaRepository;

/** The application's own repository. */
public interface OrderRepository extends JpaRepository<Order, Long> {}
