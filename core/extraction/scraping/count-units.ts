/**
 * What multiplies a number in the interfaces of large platforms, lower case: the compact forms of the Unicode locale data
 * and some that are written besides. Where a letter means different things in different languages, the commoner one
 * stands here and the other in {@link LOCAL}.
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

/** Units that stand in front of the number. */
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

/** The same letters, where a word of the text tells the language. */
const LOCAL: readonly (readonly [words: RegExp, units: Readonly<Record<string, number>>])[] = [
  [/abone|görüntüle|beğen|izle|yorum|takipçi|ifade|paylaş/i, { b: 1e3 }],
  [/người|lượt|thích|bình luận/i, { t: 1e9 }],
  [/feliratkozó|megtekintés|követő|kedvel|hozzászól|reakció|hangulatjel|megosztás/i, { e: 1e3 }],
  [/abonnent|visning|kommentar|reaktion|deling|synes godt om/i, { t: 1e3 }],
];

/** Names of what is counted that begin like a unit: "34 Mi piace" are 34. */
const NAMES = /^mi piace(?!\p{L})/iu;

const UNITS: ReadonlyMap<string, number> = new Map(
  TABLE.flatMap(([multiplier, units]) =>
    units.split('|').flatMap((unit) => spellings(unit).map((spelling) => [spelling, multiplier] as const)),
  ),
);

/** Abbreviations lose their point often. Not `mil.`, a million, which would become `mil`, a thousand elsewhere. */
function spellings(unit: string): string[] {
  const whole = unit.normalize('NFC');
  return whole.endsWith('.') && whole.length > 3 && whole !== 'mil.' ? [whole, whole.slice(0, -1)] : [whole];
}

const LONGEST = Math.max(...[...UNITS.keys()].map((unit) => unit.length));
/** A letter, or the apostrophe of an elided word: the J of J’aime is no unit. */
const WORD_GOES_ON = /^(?:[\p{L}\p{M}]|['’]\p{L})/u;
/** Scripts that write no space between a unit and the word after it. */
const UNSPACED = /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]+$/u;

export interface CountUnit {
  multiplier: number;
  /** Characters of the text that the unit takes. */
  length: number;
  /** Written in a script that groups by commas and has no decimal comma. */
  eastAsian: boolean;
}

/** The unit that a text begins with; the longest where several fit. */
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

/** The multiplier that a text ends with, for languages that put it in front of the number. */
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

/** Whether the text is a zero put in words, e.g. `No views`. */
export function isZeroInWords(text: string): boolean {
  const [first, second, ...rest] = text.trim().split(/\s+/);
  if (first === undefined || second === undefined || rest.length > 2) return false;
  return ZERO_WORDS.test(first) && [second, ...rest].some((word) => COUNTED.test(word));
}
