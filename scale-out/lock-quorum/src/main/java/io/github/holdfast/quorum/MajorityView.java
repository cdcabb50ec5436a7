package io.github.holdfast.quorum;

import io.github.holdfast.lock.LockInfo;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The holder that a majority of the members shows.
 *
 * @param owner the owner of the quorum's handle
 * @param atMembers what the members show
 */
record MajorityView(String owner, List<LockInfo> atMembers) {

    /**
     * Returns the holder that has a majority, if those that have not answered show it too.
     *
     * @param found what members have found
     */
    static Optional<MajorityView> of(List<Optional<LockInfo>> found, Quorum quorum) {
        int away = quorum.members().size() - found.size();
        Map<String, List<LockInfo>> byOwner = found.stream()
                .flatMap(Optional::stream)
                .filter(atMember -> Acquirer.ownerOf(atMember).isPresent())
                .collect(Collectors.groupingBy(
                        atMember -> Acquirer.ownerOf(atMember).orElseThrow()));
        return byOwner.entrySet().stream()
                .map(entry -> new MajorityView(entry.getKey(), entry.getValue()))
                .filter(view -> view.atMembers().size() + away >= quorum.majority())
                .max(Comparator.comparingInt(view -> view.atMembers().size()));
    }

    LockInfo info() {
        LockInfo oldest = atMembers.stream()
                .min(Comparator.comparing(LockInfo::acquiredAt))
                .orElseThrow();
        return new LockInfo(
                oldest.name(),
                oldest.mode(),
                owner,
                oldest.holder(),
                null,
                0,
                oldest.holdCount(),
                oldest.acquiredAt(),
                oldest.expiresIn());
    }
}
