/*
 * Media files of platforms by signed links (`MEDIA_PROXY`): files, subtitles in three formats, and archives of carousels.
 * A link needs no key and works until it expires, or until the key that it was made for is revoked, expires or is
 * suspended: then also transfers that run. The answer is a file like any other of the gateway, except that search
 * engines leave it out; an archive is made while it is sent, so it has no ranges. media-transfer.ts counts and charges
 * what is sent.
 */

import {
  type ByteRange,
  type MediaFile,
  type MediaFileRequest,
  type MediaLink,
  SUBTITLE_FORMATS,
  type SubtitleFormat,
  Type,
} from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  clientSignal,
  defineRoute,
  type FileOptions,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  type ServedFile,
  type ServerContext,
  sendFile,
  sendGrowing,
} from '../http/index.js';
import { type ApiKeyRecord, followKey, isKeyEnd, type KeyTable, keyOf } from '../keys/index.js';
import { usageLogIdOf } from '../usage/index.js';
import type { MediaProxy } from './link-usage.js';
import { MediaTransfer, STEP_BYTES, type TransferServices } from './media-transfer.js';

const ANY_TYPE = 'application/octet-stream';
const ZIP_TYPE = 'application/zip';

/**
 * Id of the key to make media links for: undefined if none are made. The site has them unless they are refused, and so
 * have formats for players where the operator allows the links to all; others have them only on request.
 * @param isForPlayers Whether the answer is a format of other programs, which play or download what it names.
 * @throws GatewayError `unsupported_value` if the operator makes none for this key.
 */
export function mediaIssuer(
  context: RequestContext,
  proxy: MediaProxy,
  wanted: boolean | undefined,
  isForPlayers = false,
): string | undefined {
  const isSite = context.state.playedKey !== undefined;
  if (!(wanted ?? ((isSite && proxy !== 'off') || (isForPlayers && proxy === 'on')))) return undefined;
  if (proxy === 'on' || (proxy === 'site' && isSite)) return keyOf(context).id;
  throw new GatewayError(
    'unsupported_value',
    'This gateway makes no media links for API keys. Its operator can allow them with MEDIA_PROXY=on.',
    { param: 'include_media_links' },
  );
}

export interface MediaServices extends Pick<ServerContext, 'gateway'>, TransferServices {
  keys: KeyTable;
}

/** Declarations that all routes of media links share. */
const LINK = {
  method: 'GET',
  grant: 'none',
  format: 'link',
  params: { name: { description: 'Name in the link.', example: 'NAME' } },
  query: { download: { schema: Type.Literal('1'), description: 'Browsers save the file instead of showing it.' } },
  tag: 'Link data',
  errors: [
    'file_not_found',
    'link_expired',
    'link_blocked',
    'media_unavailable',
    'rate_limit_exceeded',
    'insufficient_quota',
  ],
} as const;

const FORMS = { vtt: 'WebVTT', srt: 'SubRip', txt: 'text without times' } as const;

/** The routes of media links. */
export function mediaRoutes(services: MediaServices): Route[] {
  return [
    defineRoute({
      ...LINK,
      path: '/v1/media/:name',
      endpoint: 'media',
      summary: 'Get a media file',
      description:
        'A media file of an extracted item, passed on from the platform: the `proxy_url` of an entry. It needs no key until it expires.',
      headers: { Range: 'Bytes of it.' },
      answers: {
        200: { description: 'The file.', type: ANY_TYPE },
        206: { description: 'A part of it.', type: ANY_TYPE },
      },
      handler: (context) => sendMedia(context, services, '/v1/media/:name'),
    }),
    ...SUBTITLE_FORMATS.map((format) => {
      const path = `/v1/extract/subtitles/:name.${format}`;
      return defineRoute({
        ...LINK,
        path,
        endpoint: `${format}Subtitles`,
        summary: `Get subtitles as ${FORMS[format]}`,
        description: `A subtitle track of an extracted item as ${FORMS[format]}: \`subtitle_urls.${format}\` of an entry. It needs no key until it expires.`,
        answers: {
          200: { description: 'The subtitles.', type: TEXT_TYPES[format] },
          206: { description: 'A part of them.', type: TEXT_TYPES[format] },
        },
        handler: (context) => sendMedia(context, services, path, format),
      });
    }),
    defineRoute({
      ...LINK,
      path: ARCHIVE_ROUTE,
      endpoint: 'archive',
      summary: 'Get a carousel',
      description:
        'A ZIP of all pictures and videos of a carousel, made while it is sent: `download_links.archive` of a document. It needs no key until it expires.',
      answers: { 200: { description: 'The archive. If a file cannot be fetched, it is cut off.', type: ZIP_TYPE } },
      handler: (context) => sendArchive(context, services),
    }),
  ];
}

const ARCHIVE_ROUTE = '/v1/extract/archive/:name.zip';
const TEXT_TYPES = { vtt: 'text/vtt', srt: 'application/x-subrip', txt: 'text/plain' } as const;

async function sendMedia(
  context: ParamsContext,
  services: MediaServices,
  route: string,
  subtitles?: SubtitleFormat,
): Promise<void> {
  const { transfer, ...request } = await openLink(context, services, route);
  const media = await services.gateway.mediaFile({ ...request, ...(subtitles && { subtitles }) });
  await sendFile(context, chargedFile(media, transfer), termsOf(context, services, media));
}

/** The file, whose bytes are reserved and charged when they are read. */
export function chargedFile({ file, read }: Pick<MediaFile, 'file' | 'read'>, transfer: MediaTransfer): ServedFile {
  return {
    file,
    async read(range: ByteRange = { start: 0, end: file.size - 1 }) {
      await transfer.reserve(range.end - range.start + 1);
      const { body, ...stored } = await read(range);
      return { ...stored, body: transfer.counted(body) };
    },
  };
}

async function sendArchive(context: ParamsContext, services: MediaServices): Promise<void> {
  const { transfer, ...request } = await openLink(context, services, ARCHIVE_ROUTE);
  const archive = await services.gateway.mediaArchive(request);
  const terms = { ...termsOf(context, services, archive), isInline: false };
  await transfer.reserve(STEP_BYTES);
  sendGrowing(context, ZIP_TYPE, transfer.counted(archive.body), terms);
}

/**
 * The file that is asked for, by a link whose key works: until it ends, or the client leaves.
 * @param linkOf What a name was signed for. Default: a media file.
 */
export async function openLink(
  context: ParamsContext,
  services: MediaServices,
  route: string,
  linkOf: (name: string) => MediaLink = services.gateway.mediaLink,
): Promise<MediaFileRequest & { transfer: MediaTransfer }> {
  const { keys } = services;
  const { res: response, state } = context;
  const name = paramOf(context, 'name');
  const { issuer, platform } = linkOf(name);
  const key = await issuerOf(keys, issuer);
  const { ended, leave } = followKey(keys, key.id);
  const signal = AbortSignal.any([clientSignal(response), ended]);
  const requestId = `${usageLogIdOf(context)}/bytes`;
  const transfer = new MediaTransfer(services, { key, platform, route, startedAt: state.startedAt, requestId });
  response.once('close', () => {
    leave();
    transfer.release();
  });
  return { name, signal, transfer };
}

/** How a file of a link is sent. It is released once the client has left. */
export function termsOf(
  context: ParamsContext,
  { clock }: MediaServices,
  media: Pick<MediaFile, 'fileName' | 'plainName' | 'expiresAt' | 'release'>,
): FileOptions {
  // Also of HEAD and of answers without a body, which read nothing.
  context.res.once('close', () => media.release());
  return {
    downloadName: media.plainName,
    readableName: media.fileName,
    maxAgeSeconds: Math.max(0, Math.floor((media.expiresAt - clock.now()) / 1000)),
    isInline: context.query.download !== '1',
    isPrivate: true,
  };
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
