import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isLoopbackHost, type Logger, type OpenIdentityProvider, type OpenIdentityProviderCall } from 'mediagate';
import { Provider } from 'oidc-provider';
import { configure } from './configuration.js';
import { renderFailurePage } from './pages.js';
import { createPeople } from './people.js';
import { answerSignInPage } from './sign-in-page.js';

const { createServer } = process.getBuiltinModule('node:http');
const CLIENT_ID = 'mediagate';

export interface ProviderOptions extends OpenIdentityProviderCall {
  logger: Logger;
}

/** Serves on a free port of 127.0.0.1, with keys and a client secret that nobody had before. */
export async function openProvider({ redirectUri, logger }: ProviderOptions): Promise<OpenIdentityProvider> {
  if (!isLoopbackHost(new URL(redirectUri).hostname)) {
    throw new Error('the development identity provider lets anyone in, so it serves sites on loopback addresses alone');
  }
  const clientSecret = randomBytes(32).toString('base64url');
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const people = createPeople();
  const server = createServer({ requestTimeout: 10_000 });
  const issuer = await listen(server);
  const provider = new Provider(issuer, configure({ clientId: CLIENT_ID, clientSecret, redirectUri, key, people }));
  provider.on('server_error', (_context, error) => logger.warn('the development provider failed', { error }));
  const answerProtocol = provider.callback();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A page elsewhere may have its name point here; what it asks for then bears that name.
    if (request.headers.host !== new URL(issuer).host) return refuse(response, 421, 'This is not that host.');
    if (!request.url?.startsWith('/interaction/')) return answerProtocol(request, response);
    try {
      await answerSignInPage(request, response, { provider, people, redirectUri });
    } catch (error) {
      logger.debug('a sign-in at the development provider was refused', { error });
      refuse(response, 400, 'This sign-in is over, or it began in another browser. Go back and start again.');
    }
  }

  server.on('request', (request, response) => void answer(request, response));
  let closing: Promise<unknown> | undefined;
  return {
    issuer,
    clientId: CLIENT_ID,
    clientSecret,
    async close() {
      closing ??= closeServer(server);
      await closing;
    },
  };
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the listener has no port');
  return `http://127.0.0.1:${address.port}`;
}

function closeServer(server: Server): Promise<unknown> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  return closed;
}

function refuse(response: ServerResponse, status: number, reason: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', Connection: 'close' });
  response.end(renderFailurePage(reason));
}
