import type { ChainResult, Outcome, PartialPost } from 'mediagate';

/** What a method finds: parts of the post, best first. */
export type Found = readonly PartialPost[];
export type PostOutcome = Outcome<Found>;
export type PostClimb = ChainResult<Found>;
