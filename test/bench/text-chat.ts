/** Benchmark of the CPU of a plain chat, beside a pipe and Portkey. */

import { cpuOfProcess, type Figure, median } from './measure.js';
import { chatAnswer, chatRequest, PUBLIC_MODEL } from './text-answers.js';
import type { Contender, TextSite } from './text-site.js';

const ROUNDS = 7;
const CONNECTIONS = 32;
const REQUESTS = 20_000;
/** The other gateway is slower, and its rounds should not take longer than ours. */
const PORTKEY_REQUESTS = 4_000;
const FLOOR_RATIO = 1.7;
const PORTKEY_RATIO = 0.15;

const body = chatRequest({ stream: false });

/** CPU of the server for one plain chat completion, everything on that is on by default, beside a bare pipe and Portkey. */
export async function measureChat(site: TextSite): Promise<Figure[]> {
  await checkAnswer(site);
  const cpu = async (contender: Contender, count: number) => {
    const before = cpuOfProcess(contender.pid);
    await site.load({ ...contender, kind: 'requests', connections: CONNECTIONS, count, body });
    return ((cpuOfProcess(contender.pid) - before) * 1000) / count;
  };
  const { gateway, floor, portkey } = site;
  const round = async () => ({
    ours: await cpu(gateway, REQUESTS),
    floor: await cpu(floor, REQUESTS),
    ...(portkey && { portkey: await cpu(portkey, PORTKEY_REQUESTS) }),
  });
  await round();
  const rounds: Awaited<ReturnType<typeof round>>[] = [];
  for (let index = 0; index < ROUNDS; index += 1) rounds.push(await round());

  const figure = (what: string, theirs: number[], most: number): Figure => {
    const ratios = rounds.map(({ ours }, index) => ours / (theirs[index] ?? Number.NaN));
    const ratio = median(ratios);
    const span = [Math.min(...ratios), Math.max(...ratios)].map((value) => value.toFixed(2)).join(' to ');
    const typical = [rounds.map(({ ours }) => ours), theirs].map((values) => `${Math.round(median(values))} µs`);
    return {
      what: `Plain \`POST /v1/chat/completions\` with key, window, ledger, metrics and log, beside ${what} (CPU a request, ${CONNECTIONS} at a time)`,
      measured: `${typical.join(', ')}: ${ratio.toFixed(2)}x (${span} in ${ROUNDS} rounds)`,
      target: `≤ ${Number(most.toFixed(3))}x`,
      met: ratio <= most,
    };
  };
  return [
    figure(
      'a bare pipe of node:http and undici',
      rounds.map((one) => one.floor),
      FLOOR_RATIO,
    ),
    ...(portkey
      ? [
          figure(
            'the Portkey gateway',
            rounds.map((one) => one.portkey ?? Number.NaN),
            PORTKEY_RATIO,
          ),
        ]
      : []),
  ];
}

/** Nothing counts unless the answer is the upstream's, but for the model's name. */
async function checkAnswer({ gateway, load }: TextSite): Promise<void> {
  const { text } = await load({ ...gateway, kind: 'requests', connections: 1, count: 1, body });
  if (text !== chatAnswer(PUBLIC_MODEL)) throw new Error(`The gateway has changed the answer: ${text}`);
}
