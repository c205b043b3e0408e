import type { Gateway, PlatformInfo } from 'mediagate';

/** A request to try the gateway with. */
export interface SampleRequest {
  route: string;
  /** Undefined: it is a GET. */
  body?: object;
}

/** One request for each sort of thing that this gateway has, and none for what it has not; links first. */
export function samplesOf(gateway: Pick<Gateway, 'platforms' | 'models'>): SampleRequest[] {
  const modelOf = (kind: string) => gateway.models().find((model) => model.kind === kind)?.id;
  const image = modelOf('image');
  const text = modelOf('text');
  return [
    ...sampleLink(gateway.platforms()),
    ...(image === undefined
      ? []
      : [
          {
            route: '/v1/images/generations',
            body: { model: image, prompt: 'A tug in the harbour of Ostend at dawn' },
          },
        ]),
    ...(text === undefined
      ? []
      : [{ route: '/v1/chat/completions', body: { model: text, messages: [{ role: 'user', content: 'Ahoy!' }] } }]),
  ];
}

/** The link that most rungs are expected to answer. Where no plugin names any, a question which links there are. */
function sampleLink(platforms: readonly PlatformInfo[]): SampleRequest[] {
  const [best] = platforms
    .flatMap(({ canaries, rungs }) =>
      canaries.map(({ url, fills }) => ({
        url,
        ways: rungs.filter(({ name, available }) => available && fills[name] !== undefined).length,
      })),
    )
    .sort((one, other) => other.ways - one.ways);
  if (best) return [{ route: '/v1/extract', body: { url: best.url } }];
  return platforms.length > 0 ? [{ route: '/v1/capabilities' }] : [];
}
