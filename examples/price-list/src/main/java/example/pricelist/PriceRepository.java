package example.pricelist;

import org.springframework.data.domain.Pageable;
import org.springframework.data.domain.Slice;
import org.springframework.data.jpa.repository.JpaRepository;

interface PriceRepository extends JpaRepository<Price, String> {

    Slice<Price> findAllBy(Pageable page);
}
