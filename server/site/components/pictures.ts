/** Small pictures of finished images. */

/** The public file of an image. */
export interface PictureView {
  src: string;
  fileName: string;
  width: number;
  height: number;
  bytes: number;
}

export const THUMBNAILS = '/images/thumbnails';

/** @param isSmall For a line of a list: at most 96 pixels on each side. Default: for a card. */
export function thumbnailOf({ fileName }: PictureView, isSmall = false): string {
  return `${THUMBNAILS}/${fileName}${isSmall ? '?small=1' : ''}`;
}
