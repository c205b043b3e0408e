/*
 * Vietnamese sentences for the codes of errors and of limitations, as a file that scripts load at their first use. English
 * pages show the sentences that answers have.
 */

import { VIETNAMESE_ERRORS } from './texts/errors/errors.js';
import { VIETNAMESE_LIMITATIONS } from './texts/errors/limitations.js';

export const VIETNAMESE_SENTENCES = { errors: VIETNAMESE_ERRORS, limitations: VIETNAMESE_LIMITATIONS };
