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
