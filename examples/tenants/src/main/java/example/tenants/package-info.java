/** A Spring Boot application with a schema for each tenant, whose locks have a persistence unit of their own. */
@NullMarked
package example.tenants;

import org.jspecify.annotations.NullMarked;
