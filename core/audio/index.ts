export { createAudio } from './audio.js';
export type { Audio } from './audio-requests.js';
