/*
 * Videos with picture and sound by signed links (`MEDIA_PROXY`), merged while they are sent. A link needs no key and
 * ends as media links do. Its query limits the height and cuts the video, at key frames or, encoded anew, exactly:
 * `X-Cut-Start` and `X-Cut-End` say where it begins and ends. Its bytes are counted and charged as those of media links are.
 */

import { type TSchema, Type, type VideoFileRequest } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { defineRoute, type ParamsContext, type Route, sendFile, sendGrowing } from '../http/index.js';
import { chargedFile, type MediaServices, openLink, termsOf } from './media.js';
import { STEP_BYTES } from './media-transfer.js';

type Container = VideoFileRequest['container'];

/** The first request of players, which asks for the whole file. */
const WHOLE = 'bytes=0-';
const MAX_HEIGHT = 99_999;
const MAX_SECONDS = 1_000_000;
const ACCEPTED_SECONDS = `seconds from 0 to ${MAX_SECONDS}, with three decimals at most`;
const Height = Type.Integer({ minimum: 1, maximum: MAX_HEIGHT });
const Seconds = Type.Number({ minimum: 0, maximum: MAX_SECONDS });

/** The routes of links to videos. */
export function videoRoutes(services: MediaServices): Route[] {
  return [routeOf(services, 'mp4'), routeOf(services, 'webm')];
}

function routeOf(services: MediaServices, container: Container): Route {
  const query = (schema: TSchema, description: string) => ({ schema, description });
  const name = container === 'mp4' ? 'MP4' : 'WebM';
  const path = `/v1/extract/video/:name.${container}`;
  return defineRoute({
    method: 'GET',
    path,
    grant: 'none',
    format: 'link',
    endpoint: container === 'mp4' ? 'extractVideo' : 'extractVideoWebm',
    params: { name: { description: `Name in the link, without \`.${container}\`.`, example: 'NAME' } },
    query: {
      max_height: query(
        Height,
        'Maximum height of the picture in pixels; without one so low, the lowest. Default: the highest.',
      ),
      start: query(
        Seconds,
        'Seconds from which the video is wanted: it begins at the key frame before. Default: its beginning.',
      ),
      end: query(Seconds, 'Seconds to which the video is wanted: it ends at the key frame after. Default: its end.'),
      exact: query(
        Type.Literal('1'),
        'The video begins and ends exactly at `start` and `end`: it is encoded anew, where the operator allows it (`EXACT_CUT_SECONDS`).',
      ),
      download: query(Type.Literal('1'), 'Browsers save the file instead of showing it.'),
    },
    tag: 'Link data',
    summary: `Get a video as ${name}`,
    description: `The video of an extracted item with picture and sound as ${name}, merged while it is sent, and unchanged unless \`exact\` is set: one of \`video_download_links\`. It needs no key until it expires.`,
    answers: {
      200: {
        description: 'The video. Of a cut, `X-Cut-Start` and `X-Cut-End` are the seconds at which it begins and ends.',
        type: `video/${container}`,
      },
      206: { description: 'A part of it, while the gateway keeps it.', type: `video/${container}` },
    },
    headers: { Range: 'Bytes of it; waits for the whole video, where the gateway keeps it.' },
    errors: [
      'invalid_value',
      'unsupported_value',
      'file_not_found',
      'link_expired',
      'link_blocked',
      'media_unavailable',
      'queue_full',
      'rate_limit_exceeded',
      'insufficient_quota',
    ],
    handler: (context) => sendVideo(context, services, { container, path }),
  });
}

async function sendVideo(
  context: ParamsContext,
  services: MediaServices,
  { container, path }: { container: Container; path: string },
): Promise<void> {
  const { gateway } = services;
  const wanted = readQuery(context.query);
  const { transfer, ...link } = await openLink(context, services, path, gateway.videoLink);
  const { range = WHOLE } = context.req.headers;
  const make = context.method === 'HEAD' ? 'never' : range === WHOLE ? 'following' : 'whole';
  const video = await gateway.videoFile({ ...link, ...wanted, container, make });
  const terms = termsOf(context, services, video);
  if (video.kind === 'stored') await sendFile(context, chargedFile(video, transfer), terms);
  else {
    // What is not merged yet has no length.
    if (video.kind === 'growing') await transfer.reserve(STEP_BYTES);
    if (video.kind === 'growing') sendGrowing(context, video.contentType, transfer.counted(video.body), terms);
    else context.status = 200;
    context.set({ 'Content-Type': video.contentType, 'Accept-Ranges': 'none' });
  }
  if (!video.cut) return;
  context.set({ 'X-Cut-Start': video.cut.start.toFixed(3), 'X-Cut-End': video.cut.end.toFixed(3) });
  context.append('Access-Control-Expose-Headers', 'X-Cut-Start, X-Cut-End');
}

/** @throws GatewayError `invalid_value` with `param`. */
function readQuery(query: ParamsContext['query']): Pick<VideoFileRequest, 'maxHeight' | 'start' | 'end' | 'isExact'> {
  const maxHeight = readNumber(
    query,
    'max_height',
    /^[1-9]\d{0,4}$/,
    `a whole number of pixels from 1 to ${MAX_HEIGHT}`,
  );
  const start = readNumber(query, 'start', /^\d{1,6}(?:\.\d{1,3})?$|^1000000$/, ACCEPTED_SECONDS);
  const end = readNumber(query, 'end', /^\d{1,6}(?:\.\d{1,3})?$|^1000000$/, ACCEPTED_SECONDS);
  if (end !== undefined && end <= (start ?? 0)) {
    throw new GatewayError('invalid_value', `end must be after ${start === undefined ? 0 : 'start'}.`, {
      param: 'end',
    });
  }
  if (query.exact !== undefined && query.exact !== '1')
    throw new GatewayError('invalid_value', 'exact must be 1, or left out.', { param: 'exact' });
  return { maxHeight, start, end, ...(query.exact === '1' && { isExact: true }) };
}

function readNumber(query: ParamsContext['query'], param: string, form: RegExp, accepted: string): number | undefined {
  const value = query[param];
  if (value === undefined) return undefined;
  if (typeof value === 'string' && form.test(value)) return Number(value);
  throw new GatewayError('invalid_value', `${param} must be ${accepted}, once.`, { param });
}
