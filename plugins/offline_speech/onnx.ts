/*
 * ONNX Runtime and the tokenizer of Moonshine. The build bundles both packages into this file, and puts the one runtime
 * that is used, of four, beside the weights.
 */

export { default as tokenizer } from 'llama-tokenizer-js';
export { env, InferenceSession, Tensor } from 'onnxruntime-web/wasm';
