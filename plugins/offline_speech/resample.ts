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
