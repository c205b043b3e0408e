/**
 * Programs of the protocol's makers: the command line of the inspector, with an API key, and the conformance suite, for
 * both revisions. Most scenarios call tools, prompts and resources of a server that is made for them; these are the ones
 * that apply to any server with tools. The suite sends no key, so a proxy adds it, and leaves everything else as it is.
 */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { packageRoot } from '../../support/package-root.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

const PACKAGES = path.join(packageRoot, 'node_modules', '@modelcontextprotocol');
const SUITE = path.join(PACKAGES, 'conformance', 'dist', 'index.js');
const INSPECTOR = path.join(PACKAGES, 'inspector', 'clients', 'cli', 'build', 'index.js');
const SCENARIOS: Readonly<Record<string, readonly string[]>> = {
  '2025-11-25': ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'],
  '2026-07-28': ['server-stateless', 'http-header-validation', 'tools-list', 'server-sse-multiple-streams'],
};
/** Checks that need tools made for the suite, which ask their client or log, or something to subscribe to. */
const NOT_FOR_US: Readonly<Record<string, readonly string[]>> = {
  'server-stateless': [
    ...['ServerRejectsUndeclaredCapability', 'MissingCapabilityHttp400', 'HttpServerNoIndependentRequestsOnStream'],
    ...['ServerNoLogWithoutLogLevel', 'ServerSendsSubscriptionAck', 'ServerTagsSubscriptionId'],
  ],
};

describe('conformance of the endpoint for agents', function () {
  this.timeout(120_000);
  let app: ListeningApp;
  let proxy: Server;
  let url: string;
  let key: string;

  before(async () => {
    app = await startApp();
    key = await app.makeKey();
    const authorization = `Bearer ${key}`;
    proxy = createServer((incoming, outgoing) => {
      const { method, url: target, headers } = incoming;
      const options = {
        port: app.port,
        host: '127.0.0.1',
        method,
        path: target,
        headers: { ...headers, authorization },
      };
      const inner = request(options, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      });
      inner.on('error', () => outgoing.destroy());
      incoming.pipe(inner);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    url = `http://localhost:${(proxy.address() as AddressInfo).port}/mcp`;
  });
  after(async () => {
    proxy?.closeAllConnections();
    proxy?.close();
    await app?.close();
  });

  for (const [revision, scenarios] of Object.entries(SCENARIOS)) {
    for (const scenario of scenarios) {
      it(`${scenario} of revision ${revision}`, async () => {
        const order = [SUITE, 'server', '--url', url, '--scenario', scenario, '--spec-version', revision];
        const { stdout } = await promisify(execFile)(process.execPath, order).catch((error) => error);
        expect(stdout, stdout).to.match(/Passed: [1-9]\d*\/\d+, \d+ failed, 0 warnings/);
        const failed = [...stdout.matchAll(/^ {2}- (\w+): /gm)].map(([, name = '']) => name);
        expect(failed, stdout).to.have.members(NOT_FOR_US[scenario] ?? []);
      });
    }
  }

  it('the inspector finds no fault in the tools, and calls one', async () => {
    const common = [INSPECTOR, `${app.url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${key}`];
    const inspect = async (...more: string[]) => {
      const { stdout } = await promisify(execFile)(process.execPath, [...common, ...more]);
      return JSON.parse(stdout);
    };
    const call = ['--method', 'tools/call', '--tool-name', 'get_link_data', '--tool-arg', `url=${LINK}`];
    const [{ tools }, { structuredContent }] = await Promise.all([
      inspect('--method', 'tools/list', '--strict'),
      inspect(...call),
    ]);
    expect(tools.map(({ name }: { name: string }) => name)).to.include.members(['get_link_data', 'get_usage']);
    expect(structuredContent).to.deep.include({ content_from_outside: true, platform: 'invented' });
  });
});
