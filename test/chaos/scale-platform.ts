/** A platform whose data costs nothing to get, so that runs show what the shared cache does to requests. */

import { invented } from '../support/links/invented-plugin.js';

export default invented();
