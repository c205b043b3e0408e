import type { GatewayError } from 'mediagate';
import type { Next, RequestContext } from '../middleware/request-state.js';
import { html } from './html.js';
import { renderPage } from './page.js';

/** People who visit these routes with a browser are shown a failure as a page. */
export function markPage(context: RequestContext, next: Next): Promise<unknown> {
  context.state.renderFailure = renderFailure;
  return next();
}

function renderFailure({ code, message }: GatewayError, requestId: string): string {
  const again = code.startsWith('sign_in_') ? html`<p><a href="/signin">Sign in again</a></p>` : undefined;
  return renderPage({
    title: code.startsWith('sign_in_') ? 'You are not signed in' : 'This did not work',
    content: html`<p role="alert">${message}</p>
${again}
<p><a href="/">To the first page</a></p>
<p><small>${code} · ${requestId}</small></p>`,
  });
}
