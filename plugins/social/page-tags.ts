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
  image?: string;
  video?: string;
  videoWidth?: number;
  videoHeight?: number;
  siteName?: string;
}

/** Pictures at this address are made for crawlers and served to nobody else. */
const FOR_CRAWLERS = 'lookaside.fbsbx.com/lookaside/crawler';

export function readPageTags(html: string): PageTags {
  const tags = metaTags(html);
  const image = tags.get('og:image') ?? tags.get('twitter:image');
  const descriptions = ['og:description', 'description', 'twitter:description'].flatMap((name) => tags.get(name) ?? []);
  return {
    canonical: tags.get('canonical'),
    address: tags.get('og:url'),
    title: tags.get('title'),
    heading: tags.get('og:title') ?? tags.get('twitter:title'),
    description: descriptions.sort((one, other) => other.length - one.length)[0],
    image: image?.includes(FOR_CRAWLERS) ? undefined : image,
    video: tags.get('og:video:secure_url') ?? tags.get('og:video:url') ?? tags.get('og:video'),
    videoWidth: sizeIn(tags.get('og:video:width')),
    videoHeight: sizeIn(tags.get('og:video:height')),
    siteName: tags.get('og:site_name'),
  };
}

function sizeIn(text: string | undefined): number | undefined {
  return text && /^\d{1,5}$/.test(text) ? Number(text) : undefined;
}
