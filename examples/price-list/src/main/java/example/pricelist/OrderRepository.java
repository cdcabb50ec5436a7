package example.pricelist;

import org.springframework.data.jpa.repository.JpaRepository;

interface OrderRepository extends JpaRepository<PurchaseOrder, Long> {

    long countByCustomer(String customer);

    long countByNewestEditionLessThan(int edition);
}
