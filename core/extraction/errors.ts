/*
 * Error codes of links, of media links and of hosted MP3 files.
 */

import {
  BAD_REQUEST,
  type DeclaredCodes,
  declareErrors,
  GONE,
  SOURCE_FAILED,
  SOURCE_TIMEOUT,
} from '../runtime/index.js';

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
  link_blocked: {
    status: 451,
    type: 'permission_error',
    shouldRetry: false,
    meaning: 'The operator has blocked the item.',
    cause: 'The item was taken down with `mediagate links block`.',
    action: 'Ask the operator.',
  },
  link_expired: {
    ...GONE,
    meaning: 'The link of a file has expired.',
    cause: 'Links of media and MP3 files are valid for a limited time: see `expires_at`.',
    action: 'Extract the link again.',
  },
  media_unavailable: {
    ...SOURCE_FAILED,
    retryable: true,
    meaning: 'The media file cannot be fetched.',
    cause: 'The platform refuses the file, sends something else in its place, or breaks off.',
    action: 'Extract the link again, and use another file of the document.',
  },
  audio_timeout: {
    ...SOURCE_TIMEOUT,
    retryable: true,
    meaning: 'The MP3 file could not be made in time.',
    cause: 'The platform sends the media slowly, or the item is very long.',
    action: 'Request the file again.',
  },
});
