import type Router from '@koa/router';
import { GatewayError } from 'mediagate';
import type { ParamsContext, RequestContext, RequestState } from '../http/index.js';
import { ASSET_ENCODINGS, type AssetEncoding, assets } from './assets.js';

const FOR_EVER = 'public, max-age=31536000, immutable';

/** Files of the pages. Their addresses hold a hash of what is in them, so nobody asks twice. */
export function addAssetRoutes(router: Router<RequestState>): void {
  router.get('/assets/:version/:name', async (context: ParamsContext) => {
    const { version, name = '' } = context.params;
    const asset = assets.find(name);
    if (!asset) throw new GatewayError('file_not_found', 'There is no such file.');
    const encoding = encodingFor(context, asset.contentType);
    const { res: response } = context;
    // While nodes are updated one by one, a page of one may ask another: it gets what that has, for now.
    response.setHeader('Cache-Control', version === assets.version ? FOR_EVER : 'no-cache');
    response.setHeader('Vary', 'Accept-Encoding');
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    if (encoding !== 'identity') response.setHeader('Content-Encoding', encoding);
    response.setHeader('Content-Type', asset.contentType);
    context.body = await asset.bytes(encoding);
  });
}

/** Fonts are compressed as they are. */
function encodingFor(context: RequestContext, contentType: string): AssetEncoding {
  if (contentType.startsWith('font/')) return 'identity';
  // Asked one by one: browsers name gzip first, and mean nothing by it.
  return ASSET_ENCODINGS.find((encoding) => context.acceptsEncodings(encoding)) ?? 'identity';
}
