/*
 * The pages of images: the list of the account's image jobs with small pictures, the page of one, and its deletion. Prompts are shown
 * of jobs that pages of the site submitted; jobs of API clients keep none. An image of another account does not exist.
 */

import { Type } from '../../core/contracts/index.js';
import type { ImageJob } from '../../core/images/index.js';
import { retentionMs } from '../../core/jobs/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { AccountServices } from '../accounts/index.js';
import { type ParamsContext, paramOf, type RequestContext, type Route, readForm, seeOther } from '../http/index.js';
import { NAMED_SIZES, shownImageModel } from '../images/index.js';
import type { Prices } from '../prices/index.js';
import type { JobCosts } from '../usage/index.js';
import { type PictureView, THUMBNAILS } from './components/pictures.js';
import type { Locale } from './language/index.js';
import { imagePricesOf } from './model-views.js';
import { OWN_PAGE_ROUTE } from './page.js';
import { imagePage } from './pages/image.js';
import { type ImageView, imagesPage } from './pages/images.js';
import { loadImageOffer, type ModelChoice, type PlaygroundSources } from './playground-view.js';
import { ownVisitOf, sendTo } from './visit.js';

const SHOWN = 24;
const MAX_FORM_BYTES = 256;
const DAY_MS = 24 * 60 * 60 * 1_000;
const ID = { schema: Type.String(), description: 'Id of an image job of the account.' } as const;

export interface ImagePageServices extends AccountServices, Omit<PlaygroundSources, 'gateway'> {
  jobs: Pick<JobCosts, 'costsOf'>;
  /** Default: none. */
  prices?: Prices;
}

export function imagePageRoutes(services: ImagePageServices): Route[] {
  const pages = new ImagePages(services);
  return [
    {
      ...OWN_PAGE_ROUTE,
      path: '/images',
      summary: 'Images page',
      description: 'Page of the images of the account, and the form for new ones.',
      query: {
        after: { ...ID, description: 'Id of an image: the page begins with the one before it.' },
        again: { ...ID, description: 'Id of an image whose prompt and settings the form shows.' },
        reference: { ...ID, description: 'Id of an image that the form has as an input.' },
        model: { schema: Type.String(), description: 'Model that the form begins with.' },
      },
      errors: ['job_not_found'],
      handler: (context) => pages.sendList(context),
    },
    {
      method: 'GET',
      grant: 'session',
      tag: 'Pages',
      path: `${THUMBNAILS}/:name`,
      params: { name: { description: 'Name of the file.', example: 'img_0123456789abcdef.png' } },
      summary: 'Small picture of an image',
      description: 'A WebP for lists, of at most 640 pixels on each side.',
      query: { small: { schema: Type.Literal('1'), description: 'At most 96 pixels on each side.' } },
      answers: { 200: { description: 'The picture.', type: 'image/webp' } },
      errors: ['file_not_found', 'file_expired', 'queue_full', 'not_signed_in'],
      handler: (context) => pages.sendThumbnail(context),
    },
    {
      ...OWN_PAGE_ROUTE,
      path: '/images/:id',
      params: { id: { description: 'Id of the image job.', example: 'imgjob_0123456789abcdef' } },
      summary: 'Page of an image',
      description: 'Page of one image: the picture, its prompt and facts, and an editor.',
      errors: ['job_not_found'],
      handler: (context) => pages.sendOne(context),
    },
    {
      ...OWN_PAGE_ROUTE,
      method: 'POST',
      path: '/images/delete',
      summary: 'Delete an image',
      description: 'Deletes an image job with its files. One that runs is cancelled.',
      body: { type: 'application/x-www-form-urlencoded', schema: Type.Object({ id: Type.String(ID) }) },
      answers: { 303: { description: 'To the images page.' } },
      errors: ['job_not_found'],
      handler: (context) => pages.delete(context),
    },
  ];
}

class ImagePages {
  readonly #services: ImagePageServices;

  constructor(services: ImagePageServices) {
    this.#services = services;
  }

  async sendList(context: RequestContext): Promise<void> {
    const visit = await ownVisitOf(context, this.#services.sessions);
    if (!visit) return;
    const { signedIn, locale } = visit;
    const { gateway } = this.#services;
    const { accountId } = signedIn.user;
    const after = textOf(context.query.after);
    const filter = after === undefined ? {} : { after };
    const [found, again, reference, offer] = await Promise.all([
      gateway.images.list(accountId, SHOWN + 1, filter),
      this.#findShown(textOf(context.query.again), accountId, locale),
      this.#findShown(textOf(context.query.reference), accountId, locale),
      loadImageOffer(this.#services, signedIn.user, locale),
    ]);
    const jobs = found.slice(0, SHOWN);
    const page = imagesPage(
      {
        images: await this.#views(jobs, accountId, locale),
        offer: { ...offer, models: this.#models(offer.models) },
        retentionDays: retentionMs('image') / DAY_MS,
        next: found.length > SHOWN ? jobs.at(-1)?.id : undefined,
        isFirst: after === undefined,
        again,
        model: shownModel(textOf(context.query.model)),
        reference: reference?.picture,
      },
      locale,
    );
    sendTo(context, visit, page);
  }

  async sendOne(context: ParamsContext): Promise<void> {
    const visit = await ownVisitOf(context, this.#services.sessions);
    if (!visit) return;
    const { signedIn, locale } = visit;
    const { accountId } = signedIn.user;
    const job = await this.#services.gateway.images.find(paramOf(context, 'id'), accountId);
    const [image] = await this.#views([job], accountId, locale);
    const { withheld, models } = await loadImageOffer(this.#services, signedIn.user, locale);
    const editModels = withheld.images ? [] : this.#models(models, (model) => model.takesMask === true);
    if (image) sendTo(context, visit, imagePage({ image, editModels }, locale));
  }

  /** The name cannot be guessed, and works like that of the file itself; making pictures is for people who are signed in. */
  async sendThumbnail(context: ParamsContext): Promise<void> {
    const { sessions, gateway } = this.#services;
    await sessions.require(context);
    const { bytes, contentType } = await gateway.images.thumbnail(
      paramOf(context, 'name'),
      textOf(context.query.small) === '1' ? 'line' : 'card',
    );
    context.set({ 'Content-Type': contentType, 'Cache-Control': 'private, max-age=86400, immutable' });
    context.body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  async delete(context: RequestContext): Promise<void> {
    const { sessions, bodies, gateway, site } = this.#services;
    const { accountId } = (await sessions.require(context)).user;
    const { id = '' } = await readForm(context.req, context.res, {
      maxBytes: MAX_FORM_BYTES,
      budget: bodies,
      owner: accountId,
    });
    await gateway.images.delete(id, accountId);
    // A redirect, so that a reload does not submit the form again.
    seeOther(context, `${site().url}/images`);
  }

  /** Undefined if it is gone. */
  async #findShown(id: string | undefined, accountId: string, locale: Locale): Promise<ImageView | undefined> {
    if (id === undefined) return undefined;
    try {
      const job = await this.#services.gateway.images.find(id, accountId);
      return (await this.#views([job], accountId, locale))[0];
    } catch (error) {
      if (isGatewayError(error) && error.code === 'job_not_found') return undefined;
      throw error;
    }
  }

  async #views(found: readonly ImageJob[], accountId: string, locale: Locale): Promise<ImageView[]> {
    const { jobs, prices } = this.#services;
    const ended = found.filter(({ finishedAt }) => finishedAt !== null).map(({ id }) => id);
    const costs = prices && (await jobs.costsOf(ended, accountId));
    return found.map((job) => {
      const cost = costs?.get(job.id) ?? undefined;
      return viewOf(job, cost === undefined || !prices ? undefined : locale.smallMoney(cost, prices.currency));
    });
  }

  /** Each model once, by one name. */
  #models(models: readonly ModelChoice[], suits: (model: OfferedModel) => boolean = () => true): ModelChoice[] {
    const { gateway } = this.#services;
    const aliases = new Set(gateway.models().flatMap(({ id, aliasOf }) => (aliasOf === undefined ? [] : [id])));
    const choices = models.flatMap(({ id, isMock, prices }): [string, ModelChoice][] => {
      const model = gateway.imageProvider(id)?.models.find((offered) => offered.id === id);
      if (aliases.has(id) || !model || !suits(model)) return [];
      const takesSeed = model.takes?.includes('seed') === true;
      const imagePrices = imagePricesOf(id, [...NAMED_SIZES, 'auto'], this.#services.prices);
      return [[shownImageModel(id), { id: shownImageModel(id), isMock, takesSeed, prices, imagePrices }]];
    });
    return [...new Map(choices).values()];
  }
}

type OfferedModel = NonNullable<ReturnType<ImagePageServices['gateway']['imageProvider']>>['models'][number];

function viewOf(job: ImageJob, cost: string | undefined): ImageView {
  const { id, state, model, createdAt, startedAt, finishedAt, expiresAt, request, image, standIn, error } = job;
  const { size, options, ...asked } = request ?? {
    size: 'auto',
    options: {},
    prompt: '',
    references: 0,
    hasMask: false,
  };
  const seed = typeof options.seed === 'number' ? options.seed : undefined;
  return {
    ...{ id, state, createdAt, expiresAt, cost },
    model: shownImageModel(model),
    runMs: startedAt === null || finishedAt === null ? null : Math.max(0, finishedAt - startedAt),
    request: request && { ...asked, size: typeof size === 'string' ? size : `${size.width}x${size.height}`, seed },
    picture: pictureOf(job),
    seed: image?.seed ?? seed,
    isMock: image !== undefined && standIn !== undefined,
    error: error && state === 'failed' ? { code: error.code, message: error.message } : undefined,
  };
}

/** Pages load files from their own origin. */
export function pictureOf({ image, delivery }: ImageJob): PictureView | undefined {
  if (!image || delivery === 'inline') return undefined;
  const { name, width, height, bytes } = image;
  return { src: `/v1/images/files/${name}`, fileName: name, width, height, bytes };
}

function shownModel(id: string | undefined): string | undefined {
  return id === undefined ? undefined : shownImageModel(id);
}

function textOf(value: string | string[] | undefined): string | undefined {
  if (Array.isArray(value)) throw new GatewayError('invalid_value', 'This field may be sent once.');
  return value === '' ? undefined : value;
}
