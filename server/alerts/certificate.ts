/*
 * Reads when the TLS certificate ends that clients of the public address get. Only the handshake is made, and nothing is
 * sent. The issuer is not checked, since it may be one that only the clients know. An address that does not answer has no
 * result, since a gateway often cannot reach its own public address from inside.
 */

import { connect } from 'node:tls';

const TIMEOUT_MS = 5_000;

export interface CertificateState {
  host: string;
  /** When it ends, in milliseconds since 1970. */
  endsAt: number;
}

/** Undefined for an address without TLS, and if it does not answer within five seconds. */
export function readCertificate(address: string): Promise<CertificateState | undefined> {
  const url = URL.parse(address);
  if (url?.protocol !== 'https:') return Promise.resolve(undefined);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const { promise, resolve } = Promise.withResolvers<CertificateState | undefined>();
  // It is only read, also if it is not accepted.
  const options = { host, port: Number(url.port || 443), rejectUnauthorized: false };
  const isName = !/^[\d.]+$|:/.test(host);
  const socket = connect({ ...options, ...(isName && { servername: host }) });
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
  socket.once('secureConnect', () => {
    const endsAt = Date.parse(socket.getPeerCertificate().valid_to ?? '');
    resolve(Number.isNaN(endsAt) ? undefined : { host, endsAt });
    socket.destroy();
  });
  socket.once('error', () => socket.destroy());
  socket.once('close', () => resolve(undefined));
  return promise;
}
