import type { AudioOperation, Gateway, PluginStatus } from 'mediagate';
import { DOT_ENV_ADVICE, findMisspelt, hasDotEnv } from '../settings/index.js';

/** What each sort of model does, for people, in the order in which it is told. */
const AUDIO_WORK: readonly (readonly [AudioOperation, string])[] = [
  ['transcribe', 'hearing'],
  ['speak', 'speaking'],
  ['changeVoice', 'changed voices'],
  ['generateSound', 'sounds'],
];
const WORK_WIDTH = Math.max(...AUDIO_WORK.map(([, work]) => work.length));

export interface NoticeOptions {
  environment: NodeJS.ProcessEnv;
  gateway: Pick<Gateway, 'plugins' | 'audioProvider'>;
}

/** What whoever starts the gateway should know and may not expect; a notice has one line, or some more below it. */
export function startNotices({ environment, gateway }: NoticeOptions): string[] {
  const plugins = gateway.plugins();
  const misspelt = findMisspelt(
    environment,
    plugins.flatMap(({ variables }) => variables.names),
  );
  return [
    ...misspelt,
    ...(hasDotEnv() ? [`There is a .env in this folder, which is not read. ${DOT_ENV_ADVICE}`] : []),
    ...describeStandIns(gateway),
  ];
}

/** One line for each sort of work that only stand-ins do, below one that says so. */
function describeStandIns(gateway: NoticeOptions['gateway']): string[] {
  const work = new Map<string, PluginStatus[]>();
  for (const plugin of gateway.plugins().filter(({ state }) => state === 'ready'))
    for (const kind of workOf(plugin, gateway)) work.set(kind, [...(work.get(kind) ?? []), plugin]);
  const lines = [...work].flatMap(([kind, plugins]) => {
    const variables = new Set(plugins.flatMap((plugin) => plugin.variables.switchOff));
    const canBeReal = plugins.every(({ standIn }) => standIn) && variables.size > 0;
    return canBeReal ? [`  ${kind.padEnd(WORK_WIDTH)}  ${[...variables].join(' or ')}`] : [];
  });
  return lines.length > 0 ? [['Stand-ins answer until these connect real models:', ...lines].join('\n')] : [];
}

function workOf({ provides, serves }: PluginStatus, gateway: NoticeOptions['gateway']): string[] {
  return [
    ...(provides.includes('image') ? ['images'] : []),
    ...(provides.includes('text') ? ['text'] : []),
    ...(provides.includes('audio')
      ? AUDIO_WORK.flatMap(([operation, work]) =>
          serves.some((model) => gateway.audioProvider(model, operation)) ? [work] : [],
        )
      : []),
  ];
}
