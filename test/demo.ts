/** The demo: links, media files, images, speech and models on recorded answers, and the site of the same gateway. */

import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readPluginConfig } from 'mediagate';
import { openReplayServer } from 'mediagate/testing/server';
import { batchPart } from './demo/batch.js';
import { imagePart } from './demo/images.js';
import { jobPart } from './demo/jobs.js';
import { batchSample, fixturesOf, jobSample, linkSamples, videoSample } from './demo/link-samples.js';
import { linksPart } from './demo/links.js';
import { mediaPart } from './demo/media.js';
import { makeMediaFiles } from './demo/media-files.js';
import { modelPart } from './demo/models.js';
import { soundPart } from './demo/sound.js';
import type { DemoPart } from './demo/stage.js';
import { createTerminal } from './demo/terminal.js';
import { packageRoot } from './support/package-root.js';
import { createGatewayClient } from './support/processes/gateway-process.js';
import { readFlags } from './support/processes/program-flags.js';

/** What the demo shows; a new ability of the product adds its part here. */
const PARTS: readonly DemoPart[] = [linksPart, jobPart, batchPart, mediaPart, soundPart, imagePart, modelPart];

// Leaving by exit takes the server along.
const leave = () => process.exit(130);
process.once('SIGINT', leave);

const flags = readFlags({ command: 'npm run demo --', flags: { keep: 'switch' } });
const terminal = createTerminal(process.stdout);

terminal.line(terminal.style('bold', 'mediagate demo'));
terminal.line('No network is used: where the platforms would be, the project replays its own sample pages.');
// Of the environment, these alone have an effect.
const { PORT: port, DATA_DIR: dataFolder, TEXT_UPSTREAM_URL: textModel } = process.env;
const model = Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith('TEXT_UPSTREAM_')));
if (dataFolder) terminal.line('DATA_DIR has no effect here: the data of the demo is deleted at its end.');
if (textModel && !(await answers(textModel))) {
  terminal.line(`No server answers at ${textModel}. Start it first, or leave TEXT_UPSTREAM_URL out.`);
  process.exit(1);
}
if (textModel) terminal.line(`Chats and questions are answered by the model at ${textModel}.`);

const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-demo-'));
const mediaFolder = path.join(folder, 'media-hosts');
await mkdir(mediaFolder);
const making = terminal.wait('the files of the media hosts are made');
const media = await makeMediaFiles(mediaFolder).finally(() => making.end());
const server = await openReplayServer({
  plugins: await readPluginConfig(path.join(packageRoot, 'plugins.config.json'), model),
  fixtures: fixturesOf([...linkSamples, jobSample, batchSample]),
  media,
  examples: linkSamples.map(({ url }) => url),
  settings: { MEDIA_PROXY: 'on' },
  ...(port && { port: Number(port) }),
  ...(textModel && { reachable: [new URL(textModel).origin] }),
});
const { apiKey: key } = server;
const gateway = createGatewayClient(server.url);
terminal.line(`A real server answers on ${gateway.url}, with a key made for this demo.`);

let failed = false;
try {
  for (const part of PARTS) {
    terminal.heading(part.title);
    await part.play({
      gateway,
      key,
      terminal,
      async keep(name, content) {
        const file = path.join(folder, name);
        await writeFile(file, content);
        return file;
      },
    });
  }
  terminal.line();
  terminal.line(`Full responses are saved in ${terminal.style('cyan', folder)}`);
  if (flags.keep) {
    showSite();
    await interrupted();
  } else {
    terminal.line(
      `${terminal.style('dim', 'npm run demo -- --keep')} leaves it running: its site, where all of this can be clicked, and a curl to paste.`,
    );
  }
} catch (error) {
  failed = true;
  console.error(error, server.logs);
} finally {
  await server.close();
  process.exitCode = failed ? 1 : 0;
}

/** Whether there is a server, whatever it says. */
function answers(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(5_000) }).then(
    () => true,
    () => false,
  );
}

/** What a person can do with a gateway that keeps running. */
function showSite(): void {
  terminal.line('The gateway keeps running; Ctrl-C ends it.');
  terminal.line();
  terminal.line(`Its site is ${terminal.style('cyan', gateway.url)}. Sign in at ${gateway.url}/login under any name:`);
  terminal.line('the first person there becomes the operator. Press an example, or paste these links into');
  terminal.line(
    `${terminal.style('cyan', `${gateway.url}/playground#links`)}. It plays, cuts and saves what they have:`,
  );
  terminal.line();
  for (const { url, about = '' } of linkSamples) terminal.line(`  ${url}\n    ${terminal.style('dim', about)}`);
  terminal.line();
  terminal.line(
    'Or paste this into another terminal. `video_download_links.mp4` in the answer opens in a browser or a player;',
  );
  terminal.line('with ?start=95&end=108 behind it, it is a cut:');
  terminal.line();
  terminal.line(curlFor(videoSample.url));
  terminal.line();
  terminal.line('For an agent, or the commands of docs/guides/agents.md. This key is for the demo alone, and one that');
  terminal.line('`mediagate keys create` makes is for the gateway of `npm start`:');
  terminal.line();
  terminal.line(`export MCP=${gateway.url}/mcp MEDIAGATE_API_KEY=${key}`);
  terminal.line();
}

function curlFor(url: string): string {
  return [
    `BASE=${gateway.url} KEY=${key}`,
    `curl -s $BASE/v1/extract \\`,
    `  -H "Authorization: Bearer $KEY" \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify({ url, include_media_links: true, include_transcript: true })}'`,
  ].join('\n');
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    process.removeListener('SIGINT', leave);
    process.once('SIGINT', () => resolve());
  });
}
