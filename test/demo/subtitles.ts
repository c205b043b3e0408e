/** Subtitles of the demo's video, in the language of its platform and in English. */

const CUES: readonly (readonly [start: number, end: number, en: string, nl: string])[] = [
  [
    2,
    6,
    'It is five in the morning, and the quay is still dark.',
    'Het is vijf uur in de ochtend, de kade is nog donker.',
  ],
  [
    7,
    11,
    'The crew warms up the engine and checks the lines.',
    'De bemanning warmt de motor op en kijkt de trossen na.',
  ],
  [
    40,
    45,
    'A pilot comes aboard with coffee and the tide table.',
    'Een loods komt aan boord met koffie en de getijtafel.',
  ],
  [95, 100, 'The first ship of the day waits beyond the pier.', 'Het eerste schip van de dag wacht voorbij de pier.'],
  [102, 108, 'Two tugs take her, one ahead and one astern.', 'Twee sleepboten nemen haar, een voor en een achter.'],
  [180, 186, 'Slow ahead. The wind pushes her towards the wall.', 'Langzaam vooruit. De wind duwt haar naar de muur.'],
  [260, 265, 'She turns in the basin with a metre to spare.', 'Ze draait in het dok met een meter over.'],
  [
    380,
    386,
    'Now the narrow lock: hardly wider than the ship.',
    'Nu de smalle sluis: nauwelijks breder dan het schip.',
  ],
  [390, 396, 'Nobody speaks. Everybody looks at the fenders.', 'Niemand spreekt. Iedereen kijkt naar de stootkussens.'],
  [
    500,
    506,
    'The gates close behind her, and the water rises.',
    'De deuren gaan achter haar dicht, en het water stijgt.',
  ],
  [
    590,
    598,
    'That was the first ship. The next one comes at noon.',
    'Dat was het eerste schip. Het volgende komt om twaalf uur.',
  ],
];

/** WebVTT by language. */
export const SUBTITLES = { en: vttOf(2), nl: vttOf(3) } as const;

/** Those of a clip, by language: what is said in its first seconds. */
export const CLIP_SUBTITLES = { en: vttOf(2, 34), nl: vttOf(3, 34) } as const;

function vttOf(column: 2 | 3, lastSecond = Number.POSITIVE_INFINITY): string {
  const cues = CUES.filter(([, end]) => end <= lastSecond);
  return ['WEBVTT\n', ...cues.map((cue) => `${timeOf(cue[0])} --> ${timeOf(cue[1])}\n${cue[column]}\n`)].join('\n');
}

function timeOf(seconds: number): string {
  const minutes = String(Math.floor(seconds / 60)).padStart(2, '0');
  return `00:${minutes}:${String(seconds % 60).padStart(2, '0')}.000`;
}
