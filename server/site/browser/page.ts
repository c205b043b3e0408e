import { startCopyButtons } from './copy-buttons.js';
import { ignoreDoubleClicks } from './submit-clicks.js';

startCopyButtons(document);
ignoreDoubleClicks(document);
