/** The demo: sign-in, links, images, speech and models on recorded answers. */

import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readPluginConfig } from 'mediagate';
import { openReplayServer } from 'mediagate/testing/server';
import { batchPart } from './demo/batch.js';
import { imagePart } from './demo/images.js';
import { jobPart } from './demo/jobs.js';
import { batchSample, fixturesOf, jobSample, linkSamples } from './demo/link-samples.js';
import { linksPart } from './demo/links.js';
import { modelPart } from './demo/models.js';
import { soundPart } from './demo/sound.js';
import { inventSound } from './demo/sound-host.js';
import type { DemoPart } from './demo/stage.js';
import { createTerminal } from './demo/terminal.js';
import { packageRoot } from './support/package-root.js';
import { createGatewayClient } from './support/processes/gateway-process.js';
import { readFlags } from './support/processes/program-flags.js';

/** What the demo shows; a new ability of the product adds its part here. */
const PARTS: readonly DemoPart[] = [linksPart, jobPart, batchPart, soundPart, imagePart, modelPart];
/** Of the video whose sound is taken. */
const SOUND_SECONDS = 601;

// Leaving by exit takes the server along.
const leave = () => process.exit(130);
process.once('SIGINT', leave);

const flags = readFlags({ command: 'npm run demo --', flags: { keep: 'switch' } });
const terminal = createTerminal(process.stdout);

terminal.line(terminal.style('bold', 'mediagate demo'));
terminal.line('No network is used: where the platforms would be, the project replays its own sample pages.');

const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-demo-'));
const sound = path.join(folder, 'video-sound.wav');
await writeFile(sound, inventSound(SOUND_SECONDS));
const server = await openReplayServer({
  plugins: await readPluginConfig(path.join(packageRoot, 'plugins.config.json'), {}),
  fixtures: fixturesOf([...linkSamples, jobSample, batchSample]),
  media: { '.googlevideo.com': sound },
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
    terminal.line('The gateway keeps running; Ctrl-C ends it. Paste this into another terminal:');
    terminal.line();
    terminal.line(curlFor(linkSamples[0]?.url ?? ''));
    terminal.line();
    terminal.line(
      `Its site is ${terminal.style('cyan', gateway.url)}. Sign in at ${gateway.url}/login under any name:`,
    );
    terminal.line(
      'the first person there becomes the operator. Recorded links for its playground (two of them are refused):',
    );
    terminal.line();
    for (const { url } of linkSamples) terminal.line(`  ${url}`);
    terminal.line();
    await interrupted();
  } else {
    terminal.line(
      `${terminal.style('dim', 'npm run demo -- --keep')} leaves it running, with a curl to paste and the site.`,
    );
  }
} catch (error) {
  failed = true;
  console.error(error, server.logs);
} finally {
  await server.close();
  process.exitCode = failed ? 1 : 0;
}

function curlFor(url: string): string {
  return [
    `curl -s ${gateway.url}/v1/extract \\`,
    `  -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify({ url })}'`,
  ].join('\n');
}

function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    process.removeListener('SIGINT', leave);
    process.once('SIGINT', () => resolve());
  });
}
