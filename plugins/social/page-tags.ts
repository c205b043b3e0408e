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

/** `Name. 12,345 likes · 67 talking about this. What the profile is about`: a description of the owner. */
const OF_OWNER = /^(?<name>.{1,150}?)\. \p{Nd}[^·:]{0,60}?(?: · \p{Nd}|\b(?:likes?|followers?)\b)/u;

/** Pictures at this address are made for crawlers and served to nobody else. */
const FOR_CRAWLERS = 'lookaside.fbsbx.com/lookaside/crawler';

export function readPageTags(html: string): PageTags {
  const tags = metaTags(html);
  const image = tags.get('og:image') ?? tags.get('twitter:image');
  const names = ['og:description', 'description', 'twitter:description'];
  const heading = tags.get('og:title') ?? tags.get('twitter:title');
  const ofItem = names.flatMap((name) => tags.get(name) ?? []).filter((text) => !isOfOwner(text, heading));
  const descriptions = ofItem.map(readDescription);
  const [longest] = [...descriptions].sort((one, other) => (other.text?.length ?? 0) - (one.text?.length ?? 0));
  return {
    canonical: tags.get('canonical'),
    address: tags.get('og:url'),
    title: tags.get('title'),
    heading,
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

function isOfOwner(description: string, heading: string | undefined): boolean {
  const [name] = OF_OWNER.exec(description)?.groups?.name?.split(',', 1) ?? [];
  return name !== undefined && (heading?.startsWith(name) ?? false);
}

function readDescription(description: string): { text?: string; counted?: string; from?: string } {
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
