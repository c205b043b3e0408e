/** Benchmark of a cached link over HTTP, beside a bare Koa route, and of the tool that returns it, beside its route. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { startReplayingProxy } from '../support/links/replaying-proxy.js';
import { packageRoot } from '../support/package-root.js';
import { startGatewayProcess } from '../support/processes/gateway-process.js';
import { type LoadOptions, runLoad } from './load-client.js';
import { cpuOfProcess, type Figure, median } from './measure.js';
import { buildWatchPage } from './watch-page.js';

const ROUNDS = 5;
const ROUND_SECONDS = 4;
const CONNECTIONS = 32;
const TARGET_RATIO = 4;
/** CPU of a tool call beside its route. */
const TARGET_TOOL_RATIO = 1.3;
/** Revision of the protocol, and its tool. */
const REVISION = '2026-07-28';
const TOOL = 'get_link_data';
const VIDEO_ID = 'mgBench0001';

interface Load {
  url: string;
  pid: number;
  key: string;
  post?: LoadOptions['post'];
}

/**
 * CPU of the server process for one cached extraction, with authentication, the window of the key and the log line, beside
 * the same client load on a route of Koa that does nothing. Rounds alternate, so that the machine's moods hit both.
 */
export async function measureCachedExtract(): Promise<Figure[]> {
  const html = buildWatchPage(VIDEO_ID);
  const proxy = await startReplayingProxy({
    answer: ({ url }) =>
      url.pathname === '/watch'
        ? { headers: { 'content-type': 'text/html; charset=utf-8' }, body: html }
        : { status: 404 },
  });
  const gateway = await startGatewayProcess({ proxy, environment: { EXTRACT_CACHE_SECONDS: '3600' } });
  const floor = await startFloor();
  try {
    const { key } = await gateway.makeKey({ rpm: 1_000_000 });
    const first = await gateway.extract(key, { url: linkTo(VIDEO_ID) });
    if (first.status !== 200) throw new Error(`The extraction to be cached failed: ${first.text}`);

    const ours = { url: gateway.url, pid: gateway.pid, key };
    const theirs = { url: floor.url, pid: floor.process.pid ?? 0, key };
    const loads: Readonly<Record<'ours' | 'tool' | 'theirs', Load>> = {
      ours,
      tool: { ...ours, post: toolCall() },
      theirs,
    };
    for (const load of Object.values(loads)) await cpuPerRequest(load);
    const rounds: Record<keyof typeof loads, number>[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const [ours, tool] = [await cpuPerRequest(loads.ours), await cpuPerRequest(loads.tool)];
      rounds.push({ ours, tool, theirs: await cpuPerRequest(loads.theirs) });
    }
    const ratio = median(rounds.map((round) => round.ours / round.theirs));
    const toolRatio = median(rounds.map((round) => round.tool / round.ours));
    const cpu = (side: keyof typeof loads) => Math.round(median(rounds.map((round) => round[side])));
    return [
      {
        what: 'Cached `POST /v1/extract`, beside a no-op Koa route (CPU a request)',
        measured: `${cpu('ours')} µs, ${cpu('theirs')} µs: ${ratio.toFixed(2)}x`,
        target: `≤ ${TARGET_RATIO}x`,
        met: ratio <= TARGET_RATIO,
      },
      {
        what: 'The tool `get_link_data` of a cached link, beside its route (CPU a request)',
        measured: `${cpu('tool')} µs, ${cpu('ours')} µs: ${toolRatio.toFixed(2)}x`,
        target: `≤ ${TARGET_TOOL_RATIO}x`,
        met: toolRatio <= TARGET_TOOL_RATIO,
      },
    ];
  } finally {
    floor.process.kill();
    await gateway.stop();
    await proxy.close();
  }
}

function linkTo(videoId: string): string {
  return `https://www.youtube.com/watch?v=${videoId}`;
}

/** A call by a client of revision 2026-07-28. */
function toolCall(): LoadOptions['post'] {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': REVISION,
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { name: TOOL, arguments: { url: linkTo(VIDEO_ID) }, _meta: meta };
  return {
    path: '/mcp',
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': REVISION,
      'mcp-method': 'tools/call',
      'mcp-name': TOOL,
    },
  };
}

async function cpuPerRequest({ url, pid, key, post }: Load): Promise<number> {
  const before = cpuOfProcess(pid);
  const load = { url, key, post, link: linkTo(VIDEO_ID), connections: CONNECTIONS, seconds: ROUND_SECONDS };
  const { requests } = await runLoad(load);
  return ((cpuOfProcess(pid) - before) * 1000) / requests;
}

async function startFloor(): Promise<{ url: string; process: ChildProcess }> {
  const child = fork(path.join(packageRoot, 'dist', 'test', 'bench', 'koa-floor.js'));
  const [url] = (await once(child, 'message')) as [string];
  return { url, process: child };
}
