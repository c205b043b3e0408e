import {
  fillUrl,
  type HttpClient,
  type HttpResponse,
  type LinkRef,
  loadSiteConfig,
  requireSuccess,
  resolveShortLink,
  type SiteConfigOverride,
} from 'mediagate-plugin';
import { isOwnHost, matchLink } from './links.js';
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

/** The requests that are ever sent to the platform. An API reply may be a refusal: its body has the reason. */
export function createRequests({ http, siteConfig, apiKey = '', language }: RequestOptions) {
  const { urls, userAgent } = siteConfig;

  function get(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<HttpResponse> {
    return http.request({ url, headers: { 'user-agent': userAgent, ...headers }, signal });
  }

  return {
    api(id: string, signal: AbortSignal): Promise<HttpResponse> {
      return get(fillUrl(urls.api, { id, language }), { 'x-api-key': apiKey }, signal);
    },
    async page(id: string, signal: AbortSignal): Promise<string> {
      const response = await get(fillUrl(urls.page, { id }), { 'accept-language': language }, signal);
      return requireSuccess(response, { 404: 'removed' }).text();
    },
    shortLink(link: LinkRef, signal: AbortSignal): Promise<URL> {
      const headers = { 'user-agent': userAgent };
      return resolveShortLink({ http, link, match: matchLink, isOwn: isOwnHost, headers, signal });
    },
  };
}
