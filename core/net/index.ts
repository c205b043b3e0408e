export { type AddressGuard, createAddressGuard, MAX_URL_LENGTH } from './address-guard.js';
export { type EgressProxy, readProxyUrl } from './egress-proxy.js';
export { readJson } from './http-answer.js';
export { HOP_FIELDS } from './http-headers.js';
export { discard, type Hop, nextHop } from './http-redirect.js';
export { retryAfterSeconds } from './upstream-refusal.js';
