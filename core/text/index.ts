/*
 * What other folders may import of the text models: the service itself, token counting, format conversion, and the
 * exact handling of JSON bytes.
 */

export { correctionOf } from './background.js';
export { arrangeChat, type DraftMessage, DraftWriter, type ReasoningField } from './chats/message-order.js';
export { chatCallsIn } from './chats/parts.js';
export { fitToolId, ToolNames } from './chats/tool-names.js';
export { type PromptSample, samplePrompt } from './counting/samples.js';
export { TokenCounter } from './counting/tokens.js';
export { findInexactField, type InexactField, isVariant } from './exact-fields.js';
export { JsonEnd, markNumbers, restoreNumbers } from './exact-json.js';
export { removeElements, replaceFields } from './json.js';
export { LARGE_TEXT, workOn } from './large-work.js';
export { lastUserText } from './last-message.js';
export type {
  BackgroundStart,
  PreparedText,
  ReservedTokens,
  TextAnswer,
  TextExchange,
  TextOutcome,
  TextRequest,
  Texts,
  TokenDemand,
} from './requests.js';
export { createEventTexts } from './streams/events.js';
export { TextService, type TextsOptions } from './text.js';
export { findVendorFields, isHostedTool, MAX_VENDOR_FIELDS, type VendorField } from './vendor-fields.js';
export { convertWhole } from './whole/whole-converter.js';
