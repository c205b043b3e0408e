export { audioFileRoutes } from './audio.js';
export { speechRoutes } from './speech.js';
export { transcriptionRoutes } from './transcriptions.js';
