package io.github.holdfast.release;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bouncycastle.openpgp.PGPException;
import org.bouncycastle.openpgp.PGPPublicKey;
import org.bouncycastle.openpgp.PGPSecretKeyRing;
import org.bouncycastle.openpgp.PGPSignature;
import org.bouncycastle.openpgp.PGPSignatureList;
import org.bouncycastle.openpgp.PGPUtil;
import org.bouncycastle.openpgp.bc.BcPGPObjectFactory;
import org.bouncycastle.openpgp.bc.BcPGPSecretKeyRing;
import org.bouncycastle.openpgp.operator.bc.BcPGPContentVerifierBuilderProvider;

/** The key that a release is signed with. Only its public part is used. */
final class SigningKey {

    /** Where the plugin that signs finds it. */
    private static final String VARIABLE = "MAVEN_GPG_KEY";

    private final PGPSecretKeyRing ring;

    private SigningKey(PGPSecretKeyRing ring) {
        this.ring = ring;
    }

    static SigningKey fromEnvironment() throws IOException, PGPException {
        String armored = System.getenv(VARIABLE);
        if (armored == null) {
            throw new AssertionError("The environment has no " + VARIABLE);
        }
        return of(armored);
    }

    /** Reads a secret key as text. */
    static SigningKey of(String armored) throws IOException, PGPException {
        try (InputStream text = new ByteArrayInputStream(armored.getBytes(StandardCharsets.UTF_8));
                InputStream key = PGPUtil.getDecoderStream(text)) {
            return new SigningKey(new BcPGPSecretKeyRing(key.readAllBytes()));
        }
    }

    /** Returns whether a file's signature is by this key, and of what the file contains. */
    boolean hasSigned(Path file, Path signature) throws IOException, PGPException {
        PGPSignature signed = read(signature);
        PGPPublicKey key = ring.getPublicKey(signed.getKeyID());
        if (key == null) {
            return false;
        }
        signed.init(new BcPGPContentVerifierBuilderProvider(), key);
        signed.update(Files.readAllBytes(file));
        return signed.verify();
    }

    private static PGPSignature read(Path signature) throws IOException {
        try (InputStream text = Files.newInputStream(signature);
                InputStream binary = PGPUtil.getDecoderStream(text)) {
            Object first = new BcPGPObjectFactory(binary).nextObject();
            if (first instanceof PGPSignatureList signatures && signatures.size() == 1) {
                return signatures.get(0);
            }
            throw new AssertionError(signature + " does not contain one signature");
        }
    }
}
