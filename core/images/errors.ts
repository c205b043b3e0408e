/*
 * Error codes of image jobs beside those that models and uploads share.
 */

import { type DeclaredCodes, declareErrors, GONE } from '../runtime/index.js';

declare module '../runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof imageErrors> {}
}

const imageErrors = declareErrors({
  file_expired: {
    ...GONE,
    meaning: 'The file was deleted after its storage time.',
    cause: 'Images are stored for a limited time: see `expires_at` of the job.',
    action: 'Create the image again, and download images soon after they are made.',
  },
});
