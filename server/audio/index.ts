/*
 * Routes of hosted MP3 files, speech and transcription. Other folders import these from here alone.
 */

export { audioFileRoutes } from './audio.js';
export { speechRoutes } from './speech.js';
export { transcriptionRoutes } from './transcriptions.js';
