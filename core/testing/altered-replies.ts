import { literalEnd } from '../extraction/json-text.js';
import type { Exchange } from './fixtures.js';

/** 0 to 1, the same sequence for the same seed: a failing run can be had again. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    // A linear congruential generator: no secret depends on it.
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function withText(exchange: Exchange, alter: (text: string) => string): Exchange {
  return { ...exchange, body: Buffer.from(alter(exchange.body.toString('utf8'))) };
}

/** Another id of the same letters and length. */
export function decoyId(id: string): string {
  const turned = `${id.slice(1)}${id.slice(0, 1)}`;
  return turned === id ? id.replace(/^./, (first) => (first === '7' ? '8' : '7')) : turned;
}

/**
 * The same reply about another item: the id is another, and every number of three digits and more begins differently, so
 * that one that gets into the result can be told.
 */
export function decoyReply(exchange: Exchange, id: string): Exchange {
  return withText(exchange, (text) =>
    text
      .split(id)
      .map((part) => part.replace(/\d(?=[\d.,\u00a0\u202f]*\d{2})/g, (digit) => String((Number(digit) % 9) + 1)))
      .join(decoyId(id)),
  );
}

/** Numbers of three digits and more, separators of thousands taken out. */
export function numbersIn(text: string): Set<string> {
  return new Set((text.match(/\d[\d.,\u00a0\u202f]*\d{2}/g) ?? []).map((number) => number.replace(/\D/g, '')));
}

/** Takes out or spoils members of the JSON in a reply, be it the whole body or what scripts of a page hold. */
export function pruneReply(exchange: Exchange, random: () => number): Exchange {
  return withText(exchange, (text) => {
    const whole = parsed(text);
    if (whole !== undefined) return JSON.stringify(prune(whole, random));
    let pruned = '';
    let from = 0;
    for (const match of text.matchAll(/[=>(]\s*(?=\{"|\[\{)/g)) {
      const start = match.index + match[0].length;
      if (start < from) continue;
      const end = literalEnd(text, start);
      const value = end && parsed(text.slice(start, end));
      if (!end || value === undefined) continue;
      pruned += text.slice(from, start) + JSON.stringify(prune(value, random));
      from = end;
    }
    return pruned + text.slice(from);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON, so nothing to prune here.
    return undefined;
  }
}

const SPOILS: readonly unknown[] = [null, '', 0, -1, true, [], {}, 'spoiled', [null], { spoiled: [[]] }];

/** Spoils one member of the tree, or a few, or many of them. */
function prune(root: unknown, random: () => number): unknown {
  const places: { holder: object; key: string }[] = [];
  const collect = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    for (const key of Object.keys(value)) {
      places.push({ holder: value, key });
      collect((value as Record<string, unknown>)[key]);
    }
  };
  collect(root);
  const share = random();
  const wanted = share < 0.4 ? 1 : Math.ceil(places.length * (share < 0.7 ? 0.02 : 0.15));
  for (let done = 0; done < wanted && places.length > 0; done += 1) {
    const { holder, key } = places[Math.floor(random() * places.length)]!;
    if (random() < 0.5) Reflect.deleteProperty(holder, key);
    else Reflect.set(holder, key, SPOILS[Math.floor(random() * SPOILS.length)]);
  }
  return root;
}
