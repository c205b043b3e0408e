import { readFile } from 'node:fs/promises';
import { type CanaryLink, createValidator, type Gateway, isGatewayError, type PlatformInfo, Type } from 'mediagate';
import { CommandMistake } from './output.js';

const LinksFile = createValidator(
  Type.Array(
    Type.Object(
      {
        url: Type.String(),
        fills: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
      },
      { additionalProperties: false },
    ),
    { minItems: 1 },
  ),
);

/** One link to try, and what is expected of its platform's rungs; see `CanaryLink`. */
export interface CanaryTarget {
  platform: PlatformInfo;
  url: string;
  fills: CanaryLink['fills'];
}

export interface TargetChoice {
  /** Platform key. Default: all that are ready. */
  platform?: string;
  /** JSON file of links to try in place of the platforms' own: `[{ "url", "fills"? }]`. */
  file?: string;
}

/**
 * The links to try. One of a file that does not say what is expected is held to what its platform's own link fills.
 * @throws CommandMistake where the platform is not there, or the file or a link in it cannot be used.
 */
export async function chooseTargets(gateway: Gateway, { platform, file }: TargetChoice): Promise<CanaryTarget[]> {
  const platforms = gateway.platforms();
  const wanted = platforms.filter(({ key }) => platform === undefined || key === platform);
  if (wanted.length === 0) {
    const keys = platforms.map(({ key }) => key).join(', ') || 'none; "mediagate plugins" says why';
    throw new CommandMistake(`No platform ${platform ? `"${platform}" ` : ''}is ready. Ready: ${keys}.`);
  }
  const targets =
    file === undefined
      ? wanted.flatMap((one) => one.canaries.map((link) => ({ platform: one, ...link })))
      : (await readLinks(file)).flatMap(({ url, fills }) => {
          const key = platformOf(gateway, url, file);
          const one = wanted.find((candidate) => candidate.key === key);
          return one ? [{ platform: one, url, fills: fills ?? one.canaries[0]?.fills ?? {} }] : [];
        });
  if (targets.length === 0) throw new CommandMistake('There is no link to try; --links names a file of some.');
  return targets;
}

function platformOf(gateway: Gateway, url: string, file: string): string {
  try {
    return gateway.match(url).platform;
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    throw new CommandMistake(`${file} holds ${url}, which cannot be tried: ${error.message}`);
  }
}

async function readLinks(file: string) {
  const checked = LinksFile.check(await readJson(file));
  if (checked.ok) return checked.value;
  const issue = checked.issues[0];
  throw new CommandMistake(`${file} is no list of links: ${issue?.path || 'it'} ${issue?.message}`);
}

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new CommandMistake(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
