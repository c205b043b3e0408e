import { metaTags } from 'mediagate';

/** What a page says of itself in its head. */
export interface PageTags {
  canonical?: string;
  /** `og:url`. */
  address?: string;
  /** The text of the title element. */
  title?: string;
  /** `og:title`. */
  heading?: string;
  /** The longest of the descriptions; they are cut at various lengths. */
  description?: string;
  /** Counters that stood before the text of a description: `14K views, 233 likes`. */
  counted?: string;
  /** Whose the item is, where a description said so before its text. */
  from?: string;
  image?: string;
  video?: string;
  videoWidth?: number;
  videoHeight?: number;
  siteName?: string;
}

/** `14K views, 233 likes, Facebook Watch Videos from Name: the text`. */
const PREFIX = /^(?:(?<counted>\p{Nd}[^:]{0,250}), )?Facebook (?<kind>[^:,]{1,120})(?::\s+|$)/u;

/** Pictures at this address are made for crawlers and served to nobody else. */
const FOR_CRAWLERS = 'lookaside.fbsbx.com/lookaside/crawler';

export function readPageTags(html: string): PageTags {
  const tags = metaTags(html);
  const image = tags.get('og:image') ?? tags.get('twitter:image');
  const names = ['og:description', 'description', 'twitter:description'];
  const descriptions = names.flatMap((name) => readDescription(tags.get(name)) ?? []);
  const [longest] = [...descriptions].sort((one, other) => (other.text?.length ?? 0) - (one.text?.length ?? 0));
  return {
    canonical: tags.get('canonical'),
    address: tags.get('og:url'),
    title: tags.get('title'),
    heading: tags.get('og:title') ?? tags.get('twitter:title'),
    description: longest?.text,
    counted: descriptions.find(({ counted }) => counted)?.counted,
    from: descriptions.find(({ from }) => from)?.from,
    image: image?.includes(FOR_CRAWLERS) ? undefined : image,
    video: tags.get('og:video:secure_url') ?? tags.get('og:video:url') ?? tags.get('og:video'),
    videoWidth: sizeIn(tags.get('og:video:width')),
    videoHeight: sizeIn(tags.get('og:video:height')),
    siteName: tags.get('og:site_name'),
  };
}

function readDescription(
  description: string | undefined,
): { text?: string; counted?: string; from?: string } | undefined {
  if (description === undefined) return undefined;
  const prefix = PREFIX.exec(description);
  // A text of somebody's own may begin with the name of the site.
  const from = /^(?:Watch Videos?|Live Videos?|Videos?|Reels?) from (.{1,100})$/.exec(prefix?.groups?.kind ?? '')?.[1];
  const counted = prefix?.groups?.counted;
  if (!prefix || !(from ?? counted)) return { text: description };
  return { text: description.slice(prefix[0].length) || undefined, counted, from };
}

function sizeIn(text: string | undefined): number | undefined {
  return text && /^\d{1,5}$/.test(text) ? Number(text) : undefined;
}
