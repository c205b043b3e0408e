/** The echo text provider, checked by the testing kit. */

import { describePlugin, describeTextProvider } from 'mediagate/testing';
import plugin from '../index.js';

const options = { model: 'm-5.5', paceMs: 1 };

describePlugin({ plugin, folder: import.meta.url, options });
describeTextProvider({ plugin, options });
