import type { Gateway } from 'mediagate';
import type { ApiKeyRecord } from '../keys/index.js';
import { API_VERSION } from '../version.js';
import { MAX_BATCH_BYTES, MAX_BATCH_URLS, MAX_BODY_BYTES, MAX_URL_LENGTH, REVIEW_LIMIT } from './extract-request.js';

/** What can be extracted, with the limits that hold for the asking key. */
export function encodeCapabilities(gateway: Pick<Gateway, 'platforms' | 'maxActiveJobs'>, key: ApiKeyRecord) {
  const platforms = gateway.platforms();
  return {
    ok: true,
    platforms: platforms.map((platform) => platform.key),
    details: platforms.map(({ key: name, name: title, linkForms, features }) => ({
      key: name,
      name: title,
      link_forms: linkForms,
      features,
    })),
    limits: {
      clip_review_limit: REVIEW_LIMIT,
      url_max_length: MAX_URL_LENGTH,
      body_max_bytes: MAX_BODY_BYTES,
      batch_max_urls: MAX_BATCH_URLS,
      batch_body_max_bytes: MAX_BATCH_BYTES,
      /** Background jobs that may be queued or running; null where none are offered. */
      max_active: gateway.maxActiveJobs,
      /** Requests in a rolling minute; null is unlimited. */
      rpm: key.rpm,
    },
    version: API_VERSION,
  };
}
