package io.github.holdfast.service.fence;

/** All cells of the matrix with Hibernate 6.6 and Spring 6.2. */
class FenceOnHibernate6Test extends FenceProductTest {}
