import { X509Certificate } from 'node:crypto';

const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * The certificates in a PEM file. Each of them is parsed: Node passes over what it cannot read, and without any authority
 * it would trust all public ones.
 * @throws Error that begins with the name of the setting
 */
export function certificatesIn(text: string, name: string): [X509Certificate, ...X509Certificate[]] {
  const blocks = text.match(CERTIFICATES) ?? [];
  try {
    const [first, ...others] = blocks.map((block) => new X509Certificate(block));
    if (first) return [first, ...others];
  } catch {
    throw new Error(`${name} has a certificate that cannot be read`);
  }
  throw new Error(`${name} has no PEM certificate in it`);
}
