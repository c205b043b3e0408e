/** How one kind of client is set up. No key is in it: all of them read it from the environment. */
export interface SetupClient {
  id: 'env' | 'curl' | 'openai-node' | 'openai-python' | 'codex';
  name: string;
  /** One sentence. */
  summary: string;
  /** In the order in which they are needed. */
  files: readonly SetupFile[];
}

export interface SetupFile {
  /** Path or kind of what it is: `~/.codex/config.toml`, `Shell`. */
  title: string;
  text: string;
}

/** The environment variable that every client reads the key from. */
export const KEY_VARIABLE = 'MEDIAGATE_API_KEY';

/** The official package of this name, for JavaScript and for Python. */
const OPENAI = 'openai';

/** @param baseUrl Address of the gateway, without a trailing slash. */
export function setupClients(baseUrl: string): readonly SetupClient[] {
  return [
    {
      id: 'env',
      name: 'Environment',
      summary: 'The key lives in an environment variable, and everything else reads it from there.',
      files: [
        { title: 'Shell, for this session', text: `read -rs ${KEY_VARIABLE}\nexport ${KEY_VARIABLE}` },
        { title: 'PowerShell, for this session', text: `$env:${KEY_VARIABLE} = Read-Host -MaskInput` },
        { title: '.env of a project, never committed', text: `${KEY_VARIABLE}=\nOPENAI_BASE_URL=${baseUrl}/v1` },
      ],
    },
    {
      id: 'curl',
      name: 'curl',
      summary: 'A link in, a document out: the shortest way to see that the key works.',
      files: [
        {
          title: 'Shell',
          text: `curl ${baseUrl}/v1/extract \\
  -H "Authorization: Bearer $${KEY_VARIABLE}" \\
  -H "Content-Type: application/json" \\
  -d '{"url":"https://www.youtube.com/watch?v=dQw4w9WgXcQ"}'`,
        },
        {
          title: 'Shell, a model',
          text: `curl ${baseUrl}/v1/responses \\
  -H "Authorization: Bearer $${KEY_VARIABLE}" \\
  -H "Content-Type: application/json" \\
  -d '{"model":"m-5.5","input":"Name three harbours."}'`,
        },
      ],
    },
    {
      id: 'openai-node',
      name: 'Node',
      summary: 'The official OpenAI package for JavaScript, pointed at this gateway.',
      files: [
        { title: 'Shell', text: `npm install ${OPENAI}` },
        {
          title: 'ask.mjs',
          text: `import { OpenAI } from ${`'${OPENAI}'`};

const client = new OpenAI({
  baseURL: '${baseUrl}/v1',
  apiKey: process.env.${KEY_VARIABLE},
});

const answer = await client.responses.create({ model: 'm-5.5', input: 'Name three harbours.' });
console.log(answer.output_text);`,
        },
      ],
    },
    {
      id: 'openai-python',
      name: 'Python',
      summary: 'The official OpenAI package for Python, pointed at this gateway.',
      files: [
        { title: 'Shell', text: `pip install ${OPENAI}` },
        {
          title: 'ask.py',
          text: `import os
from ${OPENAI} import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key=os.environ["${KEY_VARIABLE}"])

answer = client.responses.create(model="m-5.5", input="Name three harbours.")
print(answer.output_text)`,
        },
      ],
    },
    {
      id: 'codex',
      name: 'Coding agent',
      summary: 'Codex speaks the responses format; other agents take the same address, variable and model.',
      files: [
        {
          title: '~/.codex/config.toml',
          text: `model = "m-5.4-mini"
model_provider = "mediagate"
model_reasoning_effort = "high"

[model_providers.mediagate]
name = "mediagate"
base_url = "${baseUrl}/v1"
env_key = "${KEY_VARIABLE}"
wire_api = "responses"`,
        },
      ],
    },
  ];
}
