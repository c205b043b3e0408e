/*
 * Writes the example request of an operation in three languages: curl, Node and Python. The values are those that the
 * route declares. Node needs no package, Python needs `requests`. A test runs every example against a gateway.
 */

import type { Content, Operation, Parameter, Schema } from './operations.js';

export const LANGUAGES = [
  { id: 'curl', title: 'curl' },
  { id: 'node', title: 'Node' },
  { id: 'python', title: 'Python' },
] as const;

export type Language = (typeof LANGUAGES)[number]['id'];

/** What an example sends. */
export interface ExampleRequest {
  method: string;
  /** With the address of the gateway. */
  url: string;
  /** Name of the environment variable with the secret; undefined if none is sent. */
  secret: string | undefined;
  /** Sent as JSON. */
  json: unknown;
  /** Sent as `multipart/form-data`. A file is given by its name. */
  form: readonly FormPart[] | undefined;
  /** Name of the file that the answer is saved as; undefined if it is printed. */
  file: string | undefined;
}

interface FormPart {
  name: string;
  value: string;
  isFile: boolean;
}

const FORM = 'multipart/form-data';
const SECRETS: Readonly<Record<string, string>> = {
  apiKey: 'MEDIAGATE_API_KEY',
  deviceToken: 'MEDIAGATE_TOKEN',
};

/** Endings of saved files by media type. */
const ENDINGS: Readonly<Record<string, string>> = {
  'image/*': 'image.png',
  'audio/*': 'audio.mp3',
  'audio/mpeg': 'audio.mp3',
  'video/mp4': 'video.mp4',
  'video/webm': 'video.webm',
  'application/zip': 'files.zip',
  'application/octet-stream': 'file.bin',
  'image/png': 'code.png',
};

/** Undefined if the operation is not called by clients, or lacks example values. */
export function exampleOf(operation: Operation, baseUrl: string): ExampleRequest | undefined {
  const { method, path, parameters, security, body, answers, isSent } = operation;
  if (isSent || security.includes('webhookSignature')) return undefined;
  const needed = parameters.filter(({ required }) => required);
  if (needed.some((one) => sampleOf(one) === undefined)) return undefined;
  const form = body[FORM]?.example;
  const secret = security.map((scheme) => SECRETS[scheme]).find((name) => name !== undefined);
  if (security.length > 0 && secret === undefined) return undefined;
  const success = answers.find(({ status }) => status.startsWith('2'));
  return {
    method,
    url: `${baseUrl}${fillPath(path, needed)}${queryOf(needed)}`,
    secret,
    json: form === undefined ? jsonOf(body['application/json']) : undefined,
    form: form === undefined ? undefined : partsOf(form, operation),
    file: ENDINGS[Object.keys(success?.content ?? {})[0] ?? ''],
  };
}

/** A body without required fields may be empty. */
function jsonOf(content: Content[string] | undefined): unknown {
  if (!content || content.example !== undefined) return content?.example;
  return (content.schema.required ?? []).length === 0 ? {} : undefined;
}

function sampleOf({ example, schema }: Parameter): string | undefined {
  const value = example ?? schema.examples?.[0];
  return value === undefined ? undefined : String(value);
}

function fillPath(path: string, parameters: readonly Parameter[]): string {
  const values = new Map(parameters.filter((one) => one.in === 'path').map((one) => [one.name, sampleOf(one)]));
  return path.replace(/\{(\w+)\}/g, (whole, name: string) => values.get(name) ?? whole);
}

function queryOf(parameters: readonly Parameter[]): string {
  const query = parameters.filter((one) => one.in === 'query').map((one) => [one.name, sampleOf(one) ?? '']);
  return query.length === 0 ? '' : `?${new URLSearchParams(query)}`;
}

function partsOf(example: unknown, { body }: Operation): FormPart[] {
  const fields = body[FORM]?.schema.properties ?? {};
  return Object.entries(example as Record<string, unknown>).map(([name, value]) => ({
    name,
    value: String(value),
    isFile: isFile(fields[name]),
  }));
}

function isFile({ format, contentMediaType }: Schema = {}): boolean {
  return format === 'binary' || contentMediaType !== undefined;
}

/** The request as code. */
export function codeOf(request: ExampleRequest, language: Language): string {
  return WRITERS[language](request);
}

const WRITERS: Readonly<Record<Language, (request: ExampleRequest) => string>> = {
  curl: writeCurl,
  node: writeNode,
  python: writePython,
};

function writeCurl({ method, url, secret, json, form, file }: ExampleRequest): string {
  const isPost = json !== undefined || form !== undefined;
  const implied = isPost ? 'POST' : 'GET';
  const parts = [
    `curl ${method === implied ? '' : `-X ${method} `}${/[?&]/.test(url) ? `'${url}'` : url}`,
    secret !== undefined && `-H "Authorization: Bearer $${secret}"`,
    json !== undefined && "-H 'Content-Type: application/json'",
    json !== undefined && `-d '${indent(JSON.stringify(json, null, 2)).replaceAll("'", "'\\''")}'`,
    ...(form ?? []).map(({ name, value, isFile }) => `-F ${shellWord(`${name}=${isFile ? '@' : ''}${value}`)}`),
    file !== undefined && `-o ${file}`,
  ];
  return parts.filter((part) => part !== false).join(' \\\n  ');
}

function shellWord(text: string): string {
  return /^[\w@=.[\]/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

function writeNode({ method, url, secret, json, form, file }: ExampleRequest): string {
  const headers = [
    secret !== undefined && `Authorization: \`Bearer \${process.env.${secret}}\``,
    json !== undefined && "'Content-Type': 'application/json'",
  ].filter((line) => line !== false);
  const files = (form ?? []).filter(({ isFile }) => isFile);
  const imports = [files.length > 0 && 'openAsBlob', file !== undefined && 'writeFileSync'].filter(
    (name) => name !== false,
  );
  const options = [
    method !== 'GET' && `method: '${method}'`,
    headers.length > 0 && `headers: {\n${headers.map((line) => `    ${line},\n`).join('')}  }`,
    json !== undefined && `body: JSON.stringify(${indent(JSON.stringify(json, null, 2))})`,
    form && 'body: form',
  ].filter((line) => line !== false && line !== undefined);
  return [
    imports.length > 0 && `import { ${imports.join(', ')} } from 'node:fs';\n`,
    form && `const form = new FormData();\n${form.map(formLine).join('')}`,
    options.length === 0
      ? `const response = await fetch('${url}');`
      : `const response = await fetch('${url}', {\n${options.map((line) => `  ${line},\n`).join('')}});`,
    file === undefined
      ? 'console.log(response.status, await response.text());'
      : `writeFileSync('${file}', Buffer.from(await response.arrayBuffer()));`,
  ]
    .filter((part) => part !== false && part !== undefined)
    .join('\n');
}

function formLine({ name, value, isFile }: FormPart): string {
  return isFile
    ? `form.append('${name}', await openAsBlob('${value}'), '${value}');\n`
    : `form.append('${name}', ${JSON.stringify(value)});\n`;
}

function writePython({ method, url, secret, json, form, file }: ExampleRequest): string {
  const files = (form ?? []).filter(({ isFile }) => isFile);
  const texts = (form ?? []).filter(({ isFile }) => !isFile);
  const quoted = (text: string) => JSON.stringify(text);
  const options = [
    quoted(url),
    secret !== undefined && `headers={"Authorization": f"Bearer {os.environ['${secret}']}"}`,
    json !== undefined && `json=${indent(pythonOf(json), 4)}`,
    texts.length > 0 && `data={${texts.map(({ name, value }) => `${quoted(name)}: ${quoted(value)}`).join(', ')}}`,
    files.length > 0 &&
      `files={${files.map(({ name, value }) => `${quoted(name)}: open(${quoted(value)}, "rb")`).join(', ')}}`,
  ].filter((line) => line !== false);
  return [
    secret !== undefined && 'import os\n',
    'import requests\n',
    `response = requests.${method.toLowerCase()}(\n${options.map((line) => `    ${line},\n`).join('')})`,
    file === undefined ? 'print(response.status_code, response.text)' : `open("${file}", "wb").write(response.content)`,
  ]
    .filter((part) => part !== false)
    .join('\n');
}

/** JSON as Python writes it. */
function pythonOf(value: unknown): string {
  const words: Readonly<Record<string, string>> = { true: 'True', false: 'False', null: 'None' };
  return JSON.stringify(value, null, 4).replace(
    /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g,
    (token) => words[token] ?? token,
  );
}

function indent(text: string, spaces = 2): string {
  return text.replaceAll('\n', `\n${' '.repeat(spaces)}`);
}
