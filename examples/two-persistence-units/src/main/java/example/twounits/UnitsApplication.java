package example.twounits;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** An application with two databases. */
@SpringBootApplication
class UnitsApplication {}
