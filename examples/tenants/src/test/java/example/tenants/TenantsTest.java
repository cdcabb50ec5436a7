package example.tenants;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TenantsTest {

    @Test
    void tenantsShareTheLocksAndCommitsAreChecked() throws InterruptedException {
        assertThat(Tenants.tell()).isEqualTo(new Tenants.Story(1, 1, true, true, true, 1));
    }
}
