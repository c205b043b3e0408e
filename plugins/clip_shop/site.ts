/*
 * What the platform changes from time to time, kept apart from the code that uses it: addresses, markers and texts of
 * site-config.json, which an operator may override.
 */

import { loadSiteConfig, type SiteConfigOverride } from 'mediagate/plugin';
import shipped from './site-config.json' with { type: 'json' };

/** What the platform changes from time to time, kept apart from the code that uses it. */
export type SiteConfig = typeof shipped;

/** @throws TypeError if the override does not fit the shipped configuration. */
export function siteConfigOf(override?: SiteConfigOverride): SiteConfig {
  return loadSiteConfig(shipped, override);
}
