/*
 * Error codes of links and of hosted MP3 files.
 */

import { BAD_REQUEST, type DeclaredCodes, declareErrors, GONE, SOURCE_TIMEOUT } from '../runtime/index.js';

declare module '../runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof extractionErrors> {}
}

const extractionErrors = declareErrors({
  invalid_url: {
    ...BAD_REQUEST,
    meaning: 'The link is not an accepted address.',
    cause:
      'The link is not http or https, is longer than 2,048 characters, or has user information, a port, a backslash or look-alike letters in its host.',
    action: 'Send the link as the platform shares it.',
  },
  unsupported_platform: {
    ...BAD_REQUEST,
    meaning: 'The link belongs to no supported platform.',
    cause: 'The host is not one of those that `GET /v1/capabilities` lists.',
    action: 'Send a link of a supported platform.',
  },
  unsupported_link: {
    ...BAD_REQUEST,
    meaning: 'The link belongs to a supported platform, but leads to no item.',
    cause: 'The link leads to a profile, a search, a playlist or a shop. The message names what it leads to.',
    action: 'Send the link of one post, video or product.',
  },
  link_expired: {
    ...GONE,
    meaning: 'The link of a file has expired.',
    cause: 'Links of MP3 files are valid for a limited time: see `expires_at`.',
    action: 'Extract the link again.',
  },
  audio_timeout: {
    ...SOURCE_TIMEOUT,
    retryable: true,
    meaning: 'The MP3 file could not be made in time.',
    cause: 'The platform sends the media slowly, or the item is very long.',
    action: 'Request the file again.',
  },
});
