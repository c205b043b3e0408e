import { invented } from '../support/links/invented-plugin.js';

/** A platform whose data costs nothing to get, so that runs show what the shared cache does to requests. */
export default invented();
