/** The sketch image provider, checked by the testing kit. */

import { describeImageProvider, describePlugin } from 'mediagate/testing';
import plugin from '../index.js';

describePlugin({ plugin, folder: import.meta.url });
describeImageProvider({ plugin });
