import type { ApiKeyRecord, PlatformInfo } from 'mediagate';
import { API_VERSION } from '../version.js';
import { MAX_URL_LENGTH, REVIEW_LIMIT } from './extract-request.js';

/** What can be extracted, with the limits that hold for the asking key. */
export function encodeCapabilities(platforms: readonly PlatformInfo[], key: ApiKeyRecord, maxBodyBytes: number) {
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
      body_max_bytes: maxBodyBytes,
      /** Requests in a rolling minute; null is unlimited. */
      rpm: key.rpm,
    },
    version: API_VERSION,
  };
}
