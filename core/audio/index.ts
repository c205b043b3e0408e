export { type Audio, createAudio } from './audio.js';
