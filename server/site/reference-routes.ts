import type Router from '@koa/router';
import { GatewayError } from 'mediagate';
import type { SignedIn } from '../accounts/index.js';
import type { ParamsContext, RequestContext, RequestState } from '../http/index.js';
import { markPage } from '../http/index.js';
import type { Page } from './page.js';
import { referencePage } from './pages/reference.js';
import { createViewerFiles } from './viewer-files.js';

const FOR_EVER = 'public, max-age=31536000, immutable';

export interface ReferenceRoutes {
  find(context: RequestContext): Promise<SignedIn | undefined>;
  send(context: RequestContext, page: Omit<Page, 'viewer'>, signedIn: SignedIn | undefined): void;
}

/** The API reference for people. */
export function addReferenceRoutes(router: Router<RequestState>, { find, send }: ReferenceRoutes): void {
  const files = createViewerFiles();

  router.get('/docs', markPage, async (context: RequestContext) => {
    send(context, referencePage(`/docs/${files.version}`), await find(context));
  });

  router.get('/docs/:version/:name', async (context: ParamsContext) => {
    const file = await files.find(context.params.name ?? '');
    if (!file) throw new GatewayError('file_not_found', 'There is no such file.');
    const { res: response } = context;
    const isBrotli = context.acceptsEncodings('br') === 'br';
    response.setHeader('Cache-Control', context.params.version === files.version ? FOR_EVER : 'no-cache');
    response.setHeader('Vary', 'Accept-Encoding');
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    if (isBrotli) response.setHeader('Content-Encoding', 'br');
    response.setHeader('Content-Type', file.contentType);
    context.body = isBrotli ? file.compressed : file.bytes;
  });
}
