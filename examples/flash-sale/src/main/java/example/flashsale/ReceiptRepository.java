package example.flashsale;

import org.springframework.data.jpa.repository.JpaRepository;

interface ReceiptRepository extends JpaRepository<Receipt, Long> {

    long countByCustomer(String customer);
}
