export type { Audio } from './audio.js';
export { createAudio } from './audio.js';
