package com.example.shop;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** An application as most are. */
@SpringBootApplication
public class Shop {

    public static void main(String[] args) {
        SpringApplication.run(Shop.class, args);
    }
}
