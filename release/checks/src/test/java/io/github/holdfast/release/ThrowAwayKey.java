package io.github.holdfast.release;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.Date;
import org.bouncycastle.bcpg.ArmoredOutputStream;
import org.bouncycastle.bcpg.HashAlgorithmTags;
import org.bouncycastle.bcpg.PublicKeyAlgorithmTags;
import org.bouncycastle.bcpg.PublicKeyPacket;
import org.bouncycastle.crypto.AsymmetricCipherKeyPair;
import org.bouncycastle.crypto.generators.Ed25519KeyPairGenerator;
import org.bouncycastle.crypto.params.Ed25519KeyGenerationParameters;
import org.bouncycastle.openpgp.PGPException;
import org.bouncycastle.openpgp.PGPKeyPair;
import org.bouncycastle.openpgp.PGPSecretKey;
import org.bouncycastle.openpgp.PGPSignature;
import org.bouncycastle.openpgp.operator.PGPDigestCalculator;
import org.bouncycastle.openpgp.operator.bc.BcPGPContentSignerBuilder;
import org.bouncycastle.openpgp.operator.bc.BcPGPDigestCalculatorProvider;
import org.bouncycastle.openpgp.operator.bc.BcPGPKeyPair;

/** A key to rehearse a release with. It has no passphrase, and nobody trusts it. */
final class ThrowAwayKey {

    private ThrowAwayKey() {}

    /**
     * Writes a new key as text.
     *
     * @param args the file, which only its owner may read
     */
    public static void main(String[] args) throws IOException, PGPException {
        Path file = Path.of(args[0]);
        Files.createDirectories(file.toAbsolutePath().getParent());
        Files.deleteIfExists(file);
        Files.createFile(file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        Files.writeString(file, armored());
    }

    /** Returns a new secret key as text. */
    static String armored() throws IOException, PGPException {
        Ed25519KeyPairGenerator generator = new Ed25519KeyPairGenerator();
        generator.init(new Ed25519KeyGenerationParameters(new SecureRandom()));
        AsymmetricCipherKeyPair generated = generator.generateKeyPair();
        PGPKeyPair pair = new BcPGPKeyPair(
                PublicKeyPacket.VERSION_4, PublicKeyAlgorithmTags.EDDSA_LEGACY, generated, Date.from(Instant.now()));
        PGPDigestCalculator checksum = new BcPGPDigestCalculatorProvider().get(HashAlgorithmTags.SHA1);
        PGPSecretKey secret = new PGPSecretKey(
                PGPSignature.POSITIVE_CERTIFICATION,
                pair,
                "Holdfast, throw-away key for a rehearsal",
                checksum,
                null,
                null,
                new BcPGPContentSignerBuilder(pair.getPublicKey().getAlgorithm(), HashAlgorithmTags.SHA256),
                null);
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        try (OutputStream armor = ArmoredOutputStream.builder().build(text)) {
            secret.encode(armor);
        }
        return text.toString(StandardCharsets.US_ASCII);
    }
}
