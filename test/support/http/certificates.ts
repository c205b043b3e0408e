/** A certificate authority that signs for any host in tests. */

import 'reflect-metadata';
import { type webcrypto as nodeCrypto, randomBytes, webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const HOUR_MS = 3_600_000;

cryptoProvider.set(webcrypto as unknown as Crypto);

/** A certificate authority that lives as long as the tests do and vouches for every host. */
export interface CertificateAuthority {
  /** The authority's own certificate, for NODE_EXTRA_CA_CERTS. */
  readonly pem: string;
  /** What a TLS server named `host` (a name or an IP address) presents; made once a host. */
  contextFor(host: string): Promise<SecureContext>;
}

export async function createCertificateAuthority(): Promise<CertificateAuthority> {
  const [authorityKeys, leafKeys] = await Promise.all([generateKeys(), generateKeys()]);
  const authority = await X509CertificateGenerator.createSelfSigned({
    // Of its own: of two with one name in a process, a client takes the first.
    name: `CN=mediagate tests ${randomBytes(8).toString('hex')}`,
    keys: authorityKeys,
    signingAlgorithm: ALGORITHM,
    ...validity(),
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    ],
  });
  const key = await privateKeyPem(leafKeys);
  const contexts = new Map<string, Promise<SecureContext>>();

  async function issue(host: string): Promise<SecureContext> {
    const leaf = await X509CertificateGenerator.create({
      // A common name holds 64 characters; the alternative name is what clients check.
      subject: `CN=${host.slice(0, 60)}`,
      issuer: authority.subject,
      publicKey: leafKeys.publicKey,
      signingKey: authorityKeys.privateKey,
      signingAlgorithm: ALGORITHM,
      ...validity(),
      extensions: [
        new BasicConstraintsExtension(false),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
        new SubjectAlternativeNameExtension([{ type: isIP(host) ? 'ip' : 'dns', value: host }]),
      ],
    });
    const cert = [leaf, authority].map((certificate) => certificate.toString('pem')).join('\n');
    return createSecureContext({ cert, key });
  }

  return {
    pem: authority.toString('pem'),
    contextFor(host) {
      const known = contexts.get(host);
      if (known) return known;
      const made = issue(host);
      contexts.set(host, made);
      return made;
    },
  };
}

async function generateKeys(): Promise<CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as unknown as CryptoKeyPair;
}

async function privateKeyPem(keys: CryptoKeyPair): Promise<string> {
  const exported = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey as nodeCrypto.CryptoKey);
  const lines = Buffer.from(exported as ArrayBuffer)
    .toString('base64')
    .replace(/(.{64})/g, '$1\n');
  return `-----BEGIN PRIVATE KEY-----\n${lines}\n-----END PRIVATE KEY-----\n`;
}

function validity() {
  return { notBefore: new Date(Date.now() - 24 * HOUR_MS), notAfter: new Date(Date.now() + 48 * HOUR_MS) };
}
