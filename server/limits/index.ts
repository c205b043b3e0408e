export { acceptSlot, slotRequest, takeSlot } from './limits.js';
