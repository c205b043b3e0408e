/*
 * What the declarations of link-data routes share.
 */

import { DEFINITIVE_CODES, TRANSIENT_CODES } from '../../core/runtime/index.js';

/** Why a link may be refused or fail. */
export const REFUSALS = [
  'invalid_url',
  'unsupported_platform',
  'unsupported_link',
  'link_blocked',
  ...DEFINITIVE_CODES,
  ...TRANSIENT_CODES,
  'plugin_unavailable',
  'queue_full',
  'rate_limit_exceeded',
  'too_many_open_jobs',
] as const;

/** Declarations that all link-data routes share. */
export const LINK_ROUTE = { grant: 'extract', apiKeyHeader: true, format: 'link', tag: 'Link data' } as const;
export const EXAMPLE_LINK = 'https://youtu.be/Tugs0fOst3n';
