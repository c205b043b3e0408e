/*
 * Put every request to the platform here, and nothing else. `http` refuses private addresses, limits sizes and times,
 * and is replaced by recordings in tests. Addresses and markers stand in `site-config.json`, which an operator can
 * override without a release.
 */

import { fillUrl, type HttpClient, loadSiteConfig, requireSuccess, type SiteConfigOverride } from 'mediagate/plugin';
import shipped from './site-config.json' with { type: 'json' };

/** What the platform changes now and then: addresses, client versions, markers, phrases. */
export type SiteConfig = typeof shipped;

/** The shipped configuration with a plugin instance's own values. @throws TypeError if they do not fit. */
export function siteConfigOf(override?: SiteConfigOverride): SiteConfig {
  return loadSiteConfig(shipped, override);
}

export interface RequestOptions {
  http: HttpClient;
  siteConfig: SiteConfig;
  /** Key of the platform's API. */
  apiKey: string | undefined;
  /** Two letters. */
  language: string;
}

/** The requests that are ever sent to the platform. Each throws a GatewayError if it fails. */
export function createRequests({ http, siteConfig, apiKey = '', language }: RequestOptions) {
  const { urls, userAgent } = siteConfig;

  async function get(url: string, headers: Record<string, string>, signal: AbortSignal) {
    const response = await http.request({ url, headers: { 'user-agent': userAgent, ...headers }, signal });
    return requireSuccess(response, { 404: 'removed' });
  }

  return {
    async api(id: string, signal: AbortSignal): Promise<unknown> {
      return (await get(fillUrl(urls.api, { id, language }), { 'x-api-key': apiKey }, signal)).json();
    },
    async page(id: string, signal: AbortSignal): Promise<string> {
      return (await get(fillUrl(urls.page, { id }), { 'accept-language': language }, signal)).text();
    },
  };
}
