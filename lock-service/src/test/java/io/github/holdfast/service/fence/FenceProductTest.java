package io.github.holdfast.service.fence;

import java.util.List;
import org.junit.jupiter.api.Tag;

/** All cells of the matrix. */
@Tag("nightly")
class FenceProductTest extends FenceMatrixTest {

    @Override
    List<Cell> cells(List<Loss> losses) {
        return Cell.product(kind(), losses);
    }
}
