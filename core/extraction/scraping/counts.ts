/*
 * Reads the first count in a text of any interface language: "1.23M subscribers", "1,2 Mio. Abonnenten", "12万", "2.5
 * lakh", other digits and separators. It knows the compact units of the Unicode locale data, words for zero, and
 * letters that mean different units in different languages. A count with a unit or a plus is marked as rounded. An
 * ambiguous or negative text gives no count, since a wrong number is worse than none. At most 300 characters are read.
 */

import type { Precision } from '../../contracts/index.js';
import { latinDigits } from './texts.js';

export interface Count {
  value: number;
  /** False if the platform rounded: "1.2M", "10,000+". */
  exact: boolean;
}

const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const SPACES = /[\u00a0\u2007\u2009\u202f]/g;
const MAX_LENGTH = 300;

/** Grouped by threes with one separator, grouped the Indian way, or not grouped. A fraction may follow. */
const NUMBER =
  /\d{1,3}(?<separator>[.,'’ ])\d{3}(?:\k<separator>\d{3})*(?![\d])(?:[.,]\d+)?|\d{1,2}(?:,\d{2})+,\d{3}(?!\d)(?:\.\d+)?|\d+(?:[.,]\d+)?/;

/**
 * The first count in a text of any interface language: "1.23M subscribers", "31,009 likes", "1,2 Mio. Abonnenten",
 * "1.234.567 visualizaciones", "12万", "2.5 lakh", Arabic-Indic and other digits. A single separator before exactly
 * three digits groups thousands if no unit follows, and is a decimal mark if one does. Undefined if there is no whole
 * count.
 */
export function parseCount(text: string): Count | undefined {
  const plain = normalize(text.slice(0, MAX_LENGTH));
  const match = NUMBER.exec(plain);
  if (!match) return isZeroInWords(plain) ? { value: 0, exact: true } : undefined;
  if (/(?:^|\s)[-−]$/.test(plain.slice(0, match.index))) return undefined;
  let rest = plain.slice(match.index + match[0].length);
  if (/^[.,]\d/.test(rest)) return undefined;
  const multiplier = unitBefore(plain.slice(0, match.index));
  if (multiplier !== undefined) return { value: Math.round(decimal(match[0]) * multiplier), exact: false };
  const first = readQuantity(match[0], rest);
  if (first === undefined) return undefined;
  let { value, exact } = first;
  rest = first.rest;
  // 1億2345万: descending units belong to one number.
  for (let unit = first.multiplier, more = first; unit > 1 && more.eastAsian; unit = more.multiplier) {
    const next = /^\s?(\d[\d,]*)/.exec(rest);
    const quantity = next?.[1] && readQuantity(next[1], rest.slice(next[0].length));
    if (!quantity || quantity.multiplier >= unit) break;
    value += quantity.value;
    exact = quantity.multiplier === 1;
    rest = quantity.rest;
    more = quantity;
  }
  if (/^\s?\+/.test(rest)) exact = false;
  return Number.isSafeInteger(value) ? { value, exact } : undefined;
}

/** Counters of a page as a document has them. */
export interface ShownCounters {
  metrics: Record<string, number | undefined>;
  precision: Record<string, Precision>;
}

/**
 * The metrics of counts that a page shows, and the precision of those that the platform rounded. A count that is
 * undefined gives an undefined metric.
 */
export function shownCounters(counts: Readonly<Record<string, Count | undefined>>): ShownCounters {
  const metrics: Record<string, number | undefined> = {};
  const precision: Record<string, Precision> = {};
  for (const [name, count] of Object.entries(counts)) {
    metrics[name] = count?.value;
    if (count?.exact === false) precision[name] = 'rounded';
  }
  return { metrics, precision };
}

interface Quantity {
  value: number;
  exact: boolean;
  multiplier: number;
  eastAsian: boolean;
  rest: string;
}

function readQuantity(digits: string, after: string): Quantity | undefined {
  const gap = /^ ?/.exec(after)?.[0].length ?? 0;
  const unit = readUnit(after.slice(gap));
  if (unit) {
    const number = unit.eastAsian ? Number(digits.replace(/[,' ]/g, '')) : decimal(digits);
    const value = Math.round(number * unit.multiplier);
    return {
      value,
      exact: false,
      multiplier: unit.multiplier,
      eastAsian: unit.eastAsian,
      rest: after.slice(gap + unit.length),
    };
  }
  const value = whole(digits);
  return value === undefined ? undefined : { value, exact: true, multiplier: 1, eastAsian: false, rest: after };
}

/** With a unit, the last separator is the decimal mark, unless it occurs several times. */
function decimal(digits: string): number {
  const separators = digits.replace(/\d/g, '');
  const last = separators.at(-1);
  if (last === undefined) return Number(digits);
  if (last !== '.' && last !== ',') return Number(digits.replace(/\D/g, ''));
  if (separators.indexOf(last) !== separators.length - 1) return Number(digits.replace(/\D/g, ''));
  const mark = digits.lastIndexOf(last);
  return Number(`${digits.slice(0, mark).replace(/\D/g, '')}.${digits.slice(mark + 1)}`);
}

/** Without a unit, separators group, and a fraction must be zero, since counts are whole. */
function whole(digits: string): number | undefined {
  const grouped =
    /^(?:[1-9]\d{0,2}(?<separator>[.,'’ ])\d{3}(?:\k<separator>\d{3})*|[1-9]\d?(?:,\d{2})+,\d{3}|\d+)(?:[.,](?<fraction>\d+))?$/.exec(
      digits,
    );
  if (!grouped || !/^0*$/.test(grouped.groups?.fraction ?? '')) return undefined;
  const fraction = grouped.groups?.fraction;
  return Number((fraction === undefined ? digits : digits.slice(0, -fraction.length - 1)).replace(/\D/g, ''));
}

function normalize(text: string): string {
  return latinDigits(text.normalize('NFC').replace(INVISIBLE, '').replace(SPACES, ' '))
    .replaceAll('٫', '.')
    .replaceAll('٬', ',');
}

/**
 * Multipliers in the interfaces of large platforms, lower case: the compact forms of the Unicode locale data and some
 * others in use. If a letter has different meanings in different languages, the common one is here and the other in
 * {@link LOCAL}.
 */
const TABLE: readonly (readonly [multiplier: number, units: string])[] = [
  [1e3, 'k|thousand|duisend|ሺ|ألف|آلاف|тыс.|тысяча|тысячы|тысяч|хил.|хиляди|হা|হাজার|hilj.|hiljada'],
  [1e3, 'hiljade|miler|milers|tis.|tisíc|tisíce|tusind|tausend|χιλ.|χιλιάδα|χιλιάδες|mil|tuh|tuhat|هزار'],
  [1e3, 't.|tuhatta|libo|millier|mille|હજાર|אלף|हज़ार|tisuća|tisuće|ezer|հզր|հազար|rb|ribu|þ.|þúsund'],
  [1e3, 'mila|ათ.|ათასი|мың|ពាន់|ಸಾ|ಸಾವಿರ|천|миң|ພັນ|tūkst.|tūkstantis|tūkstančio|tūkstančiai|tūkstančių'],
  [1e3, 'tūkstotis|tūkstoši|илј.|илјада|илјади|ആയിരം|мян.|мян|мянга|ह|हजार|ထောင်|duizend|tusen|ହ|ହଜାର'],
  [1e3, 'ਹਜ਼ਾਰ|tys.|tysiąc|tysiąca|tysiące|tysięcy|mie|mii|de mii|тысячи|tisíca|tisoč|mijë|хиљ.|хиљада'],
  [1e3, 'хиљаде|tn|ஆ|ஆயிரம்|వే|వేయి|వేలు|พัน|bin|тис.|тисяча|тисячі|тисяч|ہزار|ming|n|nghìn|inkulungwane'],
  [1e3, 'mhíle|míle|tsd.|thousands|ngàn'],
  [1e4, '万|만|သောင်း|หมื่น|萬'],
  [1e5, 'লা|লাখ|લાખ|लाख|ແສນ|သိန်း|ਲੱਖ|แสน|لاکھ|l|lakh|lakhs|lac|lacs|லட்சம்|ಲಕ್ಷ|లక్షలు'],
  [1e6, 'million|miljoen|ሚ|ሚሊዮን|مليون|ملايين|mln|milyon|млн|мільён|мільёна|мільёны|мільёнаў|млн.|милион'],
  [1e6, 'милиона|mil.|milion|miliona|milió|milions|milionu|miliony|milionů|mio.|millioner|millionen|εκ.'],
  [1e6, 'εκατομμύριο|εκατομμύρια|millón|millones|miljon|miljonit|milioi|میلیون|milj.|miljoona|miljoonaa'],
  [1e6, 'millions|millóns|מיליון|milijun|milijuna|millió|մլն|միլիոն|jt|juta|milljón|milljónir|milione'],
  [1e6, 'milioni|მლნ.|მილიონი|миллион|លាន|ಮಿ|ಮಿಲಿಯನ್|ລ້ານ|mln.|milijonas|milijono|milijonai|milijonų'],
  [1e6, 'miljons|miljoni|мил.|милиони|ദശലക്ഷം|сая|j|သန်း|mill.|ନି|ନିୟୁତ|milionów|mi|milhão|milhões'],
  [1e6, 'milioane|de milioane|миллиона|миллионов|milión|milióna|milióny|miliónov|milijon|milijoni'],
  [1e6, 'milijona|milijonov|mn|miljoner|மி|மில்லியன்|మి|మిలియన్|మిలియన్లు|ล้าน|мільйон|мільйона|мільйони'],
  [1e6, 'мільйонів|tr|triệu|isigidi|mhilliún|milliún|miliwn|m|mio|ملین'],
  [1e7, 'কো|কোটি|કરોડ|क॰|करोड़|कोटी|ကုဋေ|ဋေ|ਕਰੋੜ|کروڑ|cr|crore|crores|कोटि|करोड|করোড়|கோடி'],
  [1e8, '億|억|亿'],
  [1e9, 'billion|mjd|miljard|ቢ|ቢሊዮን|مليار|mlrd|milyard|млрд|мільярд|мільярда|мільярды|мільярдаў|млрд.'],
  [1e9, 'милиард|милиарда|mlrd.|milijarda|milijarde|milijardi|miler de milions|milers de milions|mld.'],
  [1e9, 'miliarda|miliardy|miliard|mia.|milliard|milliarder|mrd.|milliarde|milliarden|δισ.'],
  [1e9, 'δισεκατομμύριο|δισεκατομμύρια|mil m|mil millones|mld|miljardit|میلیارد|miljardi|miljardia'],
  [1e9, 'bilyon|md|milliards|અબજ|מיליארד|अ॰|अरब|mlr.|mrd|milliárd|մլրդ|միլիարդ|miliar|ma.|milljarður'],
  [1e9, 'milljarðar|miliardo|miliardi|მლრდ.|მილიარდი|миллиард|ប៊ីលាន|ಬಿ|ಬಿಲಿಯನ್|млд|ຕື້|milijardas'],
  [1e9, 'milijardo|milijardai|mljrd.|miljards|милј.|милијарда|милијарди|ബില്യൺ|тэрбум|अब्ज|bilion|ବି'],
  [1e9, 'ଶହକୋଟି|ਅਰਬ|miliardów|bi|bilhão|bilhões|mil milhões|miliarde|de miliarde|миллиарда|миллиардов'],
  [1e9, 'miliárd|milijard|милијарде|miljarder|பி|பில்லியன்|బి|బిలియన్|బిలియన్లు|พันล้าน|mr|milyar'],
  [1e9, 'мільярди|мільярдів|ارب|tỷ|isigidi sezigidi|bhilliún|billiún|biliwn|b|bn|billions|mia|tỉ'],
];

/** Units in front of the number. */
const BEFORE_NUMBER: Readonly<Record<string, number>> = {
  ද: 1e3,
  දහස: 1e3,
  elfu: 1e3,
  මි: 1e6,
  මිලියන: 1e6,
  milioni: 1e6,
  බි: 1e9,
  බිලියන: 1e9,
  bilioni: 1e9,
};

/** Units with another meaning in a language that a word of the text reveals. */
const LOCAL: readonly (readonly [words: RegExp, units: Readonly<Record<string, number>>])[] = [
  [/abone|görüntüle|beğen|izle|yorum|takipçi|ifade|paylaş/i, { b: 1e3 }],
  [/người|lượt|thích|bình luận/i, { t: 1e9 }],
  [/feliratkozó|megtekintés|követő|kedvel|hozzászól|reakció|hangulatjel|megosztás/i, { e: 1e3 }],
  [/abonnent|visning|kommentar|reaktion|deling|synes godt om/i, { t: 1e3 }],
];

/** Nouns that begin like a unit: "34 Mi piace" are 34. */
const NAMES = /^mi piace(?!\p{L})/iu;

const UNITS: ReadonlyMap<string, number> = new Map(
  TABLE.flatMap(([multiplier, units]) =>
    units.split('|').flatMap((unit) => spellings(unit).map((spelling) => [spelling, multiplier] as const)),
  ),
);

/** Abbreviations often lose their point. Not `mil.` (a million), since `mil` is a thousand in other languages. */
function spellings(unit: string): string[] {
  const whole = unit.normalize('NFC');
  return whole.endsWith('.') && whole.length > 3 && whole !== 'mil.' ? [whole, whole.slice(0, -1)] : [whole];
}

const LONGEST = Math.max(...[...UNITS.keys()].map((unit) => unit.length));
/** A letter, or the apostrophe of an elided word: the J of J’aime is no unit. */
const WORD_GOES_ON = /^(?:[\p{L}\p{M}]|['’]\p{L})/u;
/** Scripts that write no space between a unit and the next word. */
const UNSPACED = /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]+$/u;

export interface CountUnit {
  multiplier: number;
  /** Length of the unit in the text. */
  length: number;
  /** Written in a script that groups by commas and has no decimal comma. */
  eastAsian: boolean;
}

/** The unit at the start of a text; the longest if several match. */
export function readUnit(text: string): CountUnit | undefined {
  if (NAMES.test(text)) return undefined;
  const lower = text.slice(0, LONGEST + 1).toLowerCase();
  for (let length = Math.min(LONGEST, lower.length); length > 0; length -= 1) {
    const word = lower.slice(0, length);
    const multiplier = localUnit(word, text) ?? UNITS.get(word);
    if (multiplier === undefined) continue;
    const unspaced = UNSPACED.test(word);
    if (!unspaced && WORD_GOES_ON.test(text.slice(length, length + 2))) continue;
    return { multiplier, length, eastAsian: /^[\p{Script=Han}\p{Script=Hangul}]/u.test(word) };
  }
  return undefined;
}

/** The multiplier at the end of a text, for languages that put it before the number. */
export function unitBefore(text: string): number | undefined {
  const word = /\p{L}[\p{L}\p{M}]*$/u.exec(text.trimEnd())?.[0].toLowerCase();
  return word !== undefined && Object.hasOwn(BEFORE_NUMBER, word) ? BEFORE_NUMBER[word] : undefined;
}

function localUnit(word: string, text: string): number | undefined {
  return LOCAL.find(([words, units]) => word in units && words.test(text))?.[1][word];
}

const ZERO_WORDS =
  /^(?:no|keine?|aucune?|sin|ning[uú]n[ao]?s?|nenhuma?s?|nessuna?|nessun|geen|нет|brak|ingen|inga|なし|暂无|没有|沒有)$/iu;
const COUNTED =
  /^(?:views?|likes?|comments?|subscribers?|followers?|shares?|reviews?|plays?|reactions?|aufrufe|kommentare?|abonnenten|vues?|commentaires?|abonnés?|visualizaciones|visualizzazion[ei]|visualizações|comentarios?|comentários?|commenti?|suscriptores|inscritos|iscritti|weergaven|reacties|abonnees|просмотров|комментариев|подписчиков|wyświetleń|komentarzy|visningar|visninger|kommentarer|评论|評論|播放)$/iu;

/** Whether the text expresses zero in words, e.g. `No views`. */
export function isZeroInWords(text: string): boolean {
  const [first, second, ...rest] = text.trim().split(/\s+/);
  if (first === undefined || second === undefined || rest.length > 2) return false;
  return ZERO_WORDS.test(first) && [second, ...rest].some((word) => COUNTED.test(word));
}
