export { type AddressGuard, createAddressGuard, MAX_URL_LENGTH } from './address-guard.js';
export { type EgressProxy, readProxyUrl } from './egress.js';
export { discard, HOP_FIELDS, type Hop, type HttpClients, nextHop, readJson } from './http-client.js';
export { retryAfterSeconds } from './upstream-failures.js';
