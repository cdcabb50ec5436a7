package example.tenants;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/** An application whose tenants have a schema each. */
@SpringBootApplication
class TenantsApplication {}
