import { GatewayError } from '../runtime/index.js';
import type { Images } from './image-jobs.js';

async function refuse(): Promise<never> {
  throw new GatewayError('plugin_unavailable', 'This gateway keeps no jobs or no files, so it makes no images.');
}

/** What stands in where there is no place for jobs or files. */
export const absentImages: Images = {
  submit: refuse,
  find: refuse,
  wait: refuse,
  cancel: refuse,
  content: refuse,
  file: refuse,
};
