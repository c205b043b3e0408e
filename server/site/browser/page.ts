import { startCopyButtons } from './copy-buttons.js';

startCopyButtons(document);
