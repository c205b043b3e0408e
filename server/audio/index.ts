export { addAudioRoutes } from './audio.js';
export { SPEECH_FORMATS } from './audio-members.js';
export { SoundBodySchema } from './sound-request.js';
export { addSpeechRoutes } from './speech.js';
export { SpeechBodySchema } from './speech-request.js';
export { TRANSCRIPTION_FORMATS } from './transcription-request.js';
export { addTranscriptionRoutes } from './transcriptions.js';
