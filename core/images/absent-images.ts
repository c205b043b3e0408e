/*
 * What a gateway without a job store or a file store has in place of the service of images: each use is refused with
 * what is missing.
 */

import { GatewayError } from '../runtime/index.js';
import type { Images } from './images.js';

async function refuse(): Promise<never> {
  throw new GatewayError('plugin_unavailable', 'This gateway has no job store or no file store, which images need.');
}

/** Replaces the service if no job store or file storage is configured. */
export const absentImages: Images = {
  submit: refuse,
  find: refuse,
  wait: refuse,
  onPartial: () => () => {},
  list: refuse,
  cancel: refuse,
  delete: refuse,
  content: refuse,
  file: refuse,
  thumbnail: refuse,
};
