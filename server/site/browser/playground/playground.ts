/*
 * All scripts of the playground, as one file: each part takes its own form. The model of the address is chosen at the
 * end, once the forms listen.
 */

import './playground-links.js';
import './playground-batch.js';
import './playground-chat.js';
import './playground-audio.js';
import './playground-chosen.js';
