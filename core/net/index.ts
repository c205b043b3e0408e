/*
 * What other folders may import of the network code: the address guard, the HTTP client, and whether a failed request
 * was sent at all.
 */

export {
  type AddressGuard,
  createAddressGuard,
  type EgressProxy,
  isLoopbackHost,
  MAX_URL_LENGTH,
  readProxyUrl,
} from './egress.js';
export { discard, HOP_FIELDS, type Hop, type HttpClients, nextHop, readJson } from './http-client.js';
export { neverSent } from './http-receiver.js';
