/*
 * Media files of platforms by signed links (`MEDIA_PROXY`). A link needs no key and works until it expires, or until the
 * key that it was made for is revoked, expires or is suspended: then also transfers that run. The answer is a file like
 * any other of the gateway, with ranges and validators, except that search engines leave it out. Each transfer is a
 * request of that key in the usage log, with the platform as its model.
 */

import { Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  clientSignal,
  defineRoute,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  type ServerContext,
  sendFile,
} from '../http/index.js';
import { type ApiKeyRecord, followKey, isKeyEnd, type KeyTable, keyOf } from '../keys/index.js';
import type { UsageLog } from '../usage/index.js';
import type { MediaProxy } from './link-usage.js';

const ROUTE = '/v1/media/:name';
const ANY_TYPE = 'application/octet-stream';

/**
 * Id of the key to make media links for: undefined if none are made. The site has them unless they are refused, others
 * only on request.
 * @throws GatewayError `unsupported_value` if the operator makes none for this key.
 */
export function mediaIssuer(
  context: RequestContext,
  proxy: MediaProxy,
  wanted: boolean | undefined,
): string | undefined {
  const isSite = context.state.playedKey !== undefined;
  if (!(wanted ?? (isSite && proxy !== 'off'))) return undefined;
  if (proxy === 'on' || (proxy === 'site' && isSite)) return keyOf(context).id;
  throw new GatewayError(
    'unsupported_value',
    'This gateway makes no media links for API keys. Its operator can allow them with MEDIA_PROXY=on.',
    { param: 'include_media_links' },
  );
}

export interface MediaServices extends Pick<ServerContext, 'gateway' | 'clock'> {
  keys: KeyTable;
  usageLog: UsageLog;
}

/** The route of media links. */
export function mediaRoutes(services: MediaServices): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: ROUTE,
      grant: 'none',
      format: 'link',
      endpoint: 'media',
      params: { name: 'Name in the link.' },
      query: { download: { schema: Type.Literal('1'), description: 'Browsers save the file instead of showing it.' } },
      tag: 'Link data',
      summary: 'Get a media file',
      description:
        'A media file of an extracted item, passed on from the platform: the `proxy_url` of an entry. It needs no key until it expires.',
      headers: { Range: 'Bytes of it.' },
      answers: {
        200: { description: 'The file.', type: ANY_TYPE },
        206: { description: 'A part of it.', type: ANY_TYPE },
      },
      errors: ['file_not_found', 'link_expired', 'link_blocked', 'media_unavailable', 'rate_limit_exceeded'],
      handler: (context) => sendMedia(context, services),
    }),
  ];
}

async function sendMedia(context: ParamsContext, services: MediaServices): Promise<void> {
  const { gateway, keys, clock } = services;
  const { res: response } = context;
  const name = paramOf(context, 'name');
  const { issuer, platform } = gateway.mediaLink(name);
  const key = await issuerOf(keys, issuer);
  const { ended, leave } = followKey(keys, key.id);
  response.once('close', leave);
  const signal = AbortSignal.any([clientSignal(response), ended]);
  const sent = (bytes: number) => count(context, services, { key, platform, bytes });
  const media = await gateway.mediaFile({ name, signal, sent });
  // Also of HEAD and of answers without a body, which read nothing.
  response.once('close', () => media.release());
  const { fileName, plainName, expiresAt } = media;
  await sendFile(context, media, {
    downloadName: plainName,
    readableName: fileName,
    maxAgeSeconds: Math.max(0, Math.floor((expiresAt - clock.now()) / 1000)),
    isInline: context.query.download !== '1',
    isPrivate: true,
  });
}

/** @throws GatewayError `link_expired` if the key no longer works. */
async function issuerOf(keys: KeyTable, id: string): Promise<ApiKeyRecord> {
  try {
    return await keys.admitId(id);
  } catch (cause) {
    if (!isKeyEnd(cause)) throw cause;
    throw new GatewayError('link_expired', 'The key that this link was made for no longer works.', { cause });
  }
}

function count(
  context: RequestContext,
  { usageLog, clock }: MediaServices,
  { key: { id, accountId }, platform, bytes }: { key: ApiKeyRecord; platform: string; bytes: number },
): void {
  const latencyMs = Math.max(0, clock.monotonic() - context.state.startedAt);
  const request = { keyId: id, accountId, route: ROUTE, model: platform, requests: 1, failed: bytes > 0 ? 0 : 1 };
  usageLog.count({ ...request, latencyMs, at: clock.now() });
}
