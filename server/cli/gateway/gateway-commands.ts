/*
 * Declares the commands about the gateway itself: its server, models, plugins, jobs and stored state, and the work that
 * runs without a server. The declarations are the only place with their options and help texts; the module that a
 * command imports does its work.
 */

import { INCIDENT_KINDS, INCIDENT_STATES, JOB_KINDS, JOB_STATES } from '../../choices.js';
import { defineCommand } from '../define-command.js';
import type { Outcome } from '../output.js';

const JOB = ['job', 'its id'] as const;

export const serve = defineCommand({
  name: 'serve',
  summary: 'start the server',
  options: {
    '--role <role>': { text: 'answer requests, or run background jobs; default: both', choices: ['api', 'worker'] },
    '--first-run': { text: 'create a key if there is none, and print how to use it', conflicts: 'role' },
  },
  moreHelp: async () => (await import('../../settings/index.js')).settingsHelp(),
  exits: true,
  json: false,
  run: async (settings, { firstRun, role }): Promise<Outcome> => {
    const print = (text: string) => void process.stdout.write(text);
    const { serve } = await import('../../serve.js');
    return { exitCode: await serve({ settings, environment: process.env, firstRun, role, print }) };
  },
});

export const init = defineCommand({
  name: 'init',
  summary: 'ask for the usual settings, and write them to mediagate.env',
  options: { '--yes': 'ask nothing: write what the environment sets' },
  shape: 'WrittenSettings',
  help: `It asks for text models, an image model, the public address, sign-in and payments. The file is in the data folder, or where
mediagate.env is already.`,
  examples: ['init --yes'],
  run: async (...call): Promise<Outcome<'WrittenSettings'>> => (await import('../init.js')).initCommand(...call),
});

export const listJobs = defineCommand({
  name: 'jobs list',
  summary: 'list jobs, and count them by state',
  options: {
    '--kind <kind>': {
      text: 'image, extraction, batch or transcript (default: all)',
      values: JOB_KINDS,
    },
    '--state <state>': {
      text: 'queued, running, completed, failed or cancelled (default: queued and running)',
      values: JOB_STATES,
    },
    '--account <account>': 'only this account',
    '--limit <number>': 'maximum number (default: 100)',
    '--before <job>': 'only those after this id in the list',
  },
  json: 'print JSON, without the counts',
  help: `Jobs that wait or run are listed newest first, those of another state by when they ended, latest first.
The last column gives the reason of the end, or the heartbeat of the worker. A job whose worker is gone moves to another worker
when its lease is over, 15 s after its last sign of life.`,
  examples: ['jobs list --kind image --state failed'],
  shape: 'Jobs',
  run: async (...call): Promise<Outcome<'Jobs'>> => (await import('./jobs.js')).listJobsCommand(...call),
});

export const cancelJob = defineCommand({
  name: 'jobs cancel',
  summary: 'cancel a queued or running job for all its owners',
  arguments: [JOB],
  options: { '--note <text>': 'reason; stored with your name in the history' },
  shape: 'CancelledJob',
  run: async (...call): Promise<Outcome<'CancelledJob'>> => (await import('./jobs.js')).cancelJobCommand(...call),
});

export const retryJob = defineCommand({
  name: 'jobs retry',
  summary: 'do the work of a failed image or extraction job again',
  arguments: [JOB],
  options: { '--note <text>': 'reason; stored with your name in the history' },
  help: `The retry is a new job of the same owners, in the queue as any other. It costs them nothing: no request of the rate limit, and
nothing of quota, budget and balance. A job can be retried once, within a day of its end.`,
  shape: 'RetriedJob',
  run: async (...call): Promise<Outcome<'RetriedJob'>> => (await import('./jobs.js')).retryJobCommand(...call),
});

const JOB_COMMANDS = [
  listJobs,
  defineCommand({
    name: 'jobs show',
    summary: 'show a job: owner, state, cost and history',
    arguments: [JOB],
    help: `What was asked for and what came of it is its owner's own: prompts, input images, links and results are not shown. Of an
extraction there are the platform and the item's id, as in the log.`,
    shape: 'JobDetails',
    run: async (...call): Promise<Outcome<'JobDetails'>> => (await import('./jobs.js')).showJobCommand(...call),
  }),
  cancelJob,
  retryJob,
];

export const migrate = defineCommand({
  name: 'migrate',
  summary: 'migrate the database to the schema of this release, as serve does at its start',
  options: { '--check': 'only check; exit code 1 if a migration is needed' },
  json: false,
  run: async (...call): Promise<Outcome> => (await import('../state.js')).migrateCommand(...call),
});

export const backUp = defineCommand({
  name: 'backup',
  summary: 'copy database and files into a new folder, while a server runs',
  arguments: [['folder', 'target folder; must not exist']],
  options: { '--secrets': 'include the secrets in DATA_DIR' },
  json: false,
  run: async (...call): Promise<Outcome> => (await import('../state.js')).backupCommand(...call),
});

const importDatabase = defineCommand({
  name: 'import',
  summary: 'copy a SQLite state into the empty PostgreSQL of DATABASE_URL',
  options: {
    '--from <place>': { text: 'a data folder that no gateway uses, a backup, or a SQLite file', required: true },
  },
  json: false,
  examples: ['import --from /backups/2026-06-15'],
  run: async (...call): Promise<Outcome> => (await import('../state.js')).importCommand(...call),
});

const STATE_COMMANDS = [
  migrate,
  backUp,
  defineCommand({
    name: 'restore',
    summary: 'restore a backup into an empty DATA_DIR',
    arguments: [['folder', 'what "backup" made']],
    json: false,
    run: async (...call): Promise<Outcome> => (await import('../state.js')).restoreCommand(...call),
  }),
  importDatabase,
];

export const extract = defineCommand({
  name: 'extract',
  summary: 'extract one link without a server and print the JSON',
  arguments: [['url', 'link of a supported platform']],
  options: {
    '--clip-review-limit <number>': { text: 'reviews per star group, 1 to 100', number: true },
    '--clip-sort <order>': { text: 'latest or recommended', suggests: ['latest', 'recommended'] },
    '--include-empty-reviews': 'also reviews without text',
    '--no-include-audio-mp3': 'offer no MP3 link',
    '--async-mode': 'as async_mode of the route; this command still waits',
    '--force-async': 'as force_async of the route; this command still waits',
  },
  json: false,
  run: async (...call): Promise<Outcome> => (await import('./extract.js')).extractCommand(...call),
});

export const makeImage = defineCommand({
  name: 'image',
  summary: 'create one image without a server and print its path',
  arguments: [['prompt', 'description of the image']],
  options: {
    '--ref <file>': { text: 'input image: a file or an https link; up to four times', many: true },
    '--mask <file>': 'PNG file or https link: its transparent pixels are the part of the first --ref to change',
    '--size <size>': 'canvas, e.g. 1024x1536, or auto (default: 1024x1024)',
    '--model <name>': { text: 'image model', default: 'gen-img-2' },
    '-o, --output <file>': 'a folder, or a file: .png, .jpg or .webp chooses the format (default: here)',
  },
  json: false,
  examples: ['image "a tug at dawn" --size 1024x1536 --output tug.webp'],
  run: async (...call): Promise<Outcome> => (await import('./image.js')).imageCommand(...call),
});

export const probe = defineCommand({
  name: 'probe',
  summary: 'try every method and media file of every platform (needs the network)',
  options: {
    '--platform <key>': 'only this platform, e.g. vidsite',
    '--links <file>': 'JSON file of links to try instead of those of the plugins',
  },
  help: `A file of links: [{"url": "https://…", "fills": {"watch_page": ["common.title", "metrics.views"]}}]
"fills" says which members each method should give; without it a link is held to what its platform's own link fills.
Then each link is read as a whole, and its media files are asked for. The exit code is 1 where a method that should
answer does not, or gives less, or where a file is refused. The results are stored for /health and the metrics.`,
  shape: 'Probe',
  run: async (...call): Promise<Outcome<'Probe'>> => (await import('./probe.js')).probeCommand(...call),
});

const OFFLINE_COMMANDS = [
  extract,
  makeImage,
  defineCommand({
    name: 'plugins',
    summary: 'list the plugin instances and their state',
    shape: 'Plugins',
    run: async (...call): Promise<Outcome<'Plugins'>> => (await import('./plugins.js')).pluginsCommand(...call),
  }),
  defineCommand({
    name: 'doctor',
    summary: 'check what this machine has and what is missing',
    shape: 'Findings',
    run: async (...call): Promise<Outcome<'Findings'>> => (await import('./plugins.js')).doctorCommand(...call),
  }),
  probe,
  defineCommand({
    name: 'completion',
    summary: 'print the completion script of a shell',
    arguments: [
      ['shell', 'the shell that loads it', ['bash', 'zsh', 'fish']],
      ['[words...]', 'words to complete; the script sends them'],
    ],
    settings: false,
    help: `To load it: eval "$(mediagate completion bash)", likewise for zsh, or mediagate completion fish | source`,
    json: false,
    run: async (_settings, shell, words): Promise<Outcome> => {
      const { COMMANDS } = await import('../program.js');
      return (await import('../completion.js')).completionCommand(COMMANDS, shell, words);
    },
  }),
];

/** In the order of the help. */
const LINK = ['link', 'the item, as people share it'] as const;
const LINK_NOTE = { '--note <text>': 'reason; stored with your name in the audit log' };

export const blockLink = defineCommand({
  name: 'links block',
  summary: 'take an item down: it is not read, and its media and MP3 links stop',
  arguments: [LINK],
  options: LINK_NOTE,
  examples: ['links block https://www.youtube.com/watch?v=jNQXAC9IVRw --note "notice of 3 May"'],
  shape: 'ChangedLink',
  run: async (...call): Promise<Outcome<'ChangedLink'>> => (await import('./links.js')).blockLinkCommand(...call),
});

/** In the order of the help. */
const LINK_COMMANDS = [
  defineCommand({
    name: 'links list',
    isDefault: true,
    summary: 'list the items that are taken down',
    shape: 'BlockedLinks',
    run: async (...call): Promise<Outcome<'BlockedLinks'>> =>
      (await import('./links.js')).listBlockedLinksCommand(...call),
  }),
  blockLink,
  defineCommand({
    name: 'links unblock',
    summary: 'let an item in again',
    arguments: [LINK],
    options: LINK_NOTE,
    shape: 'ChangedLink',
    run: async (...call): Promise<Outcome<'ChangedLink'>> => (await import('./links.js')).unblockLinkCommand(...call),
  }),
];

export const addIncident = defineCommand({
  name: 'incidents add',
  summary: 'report an incident on the status page',
  arguments: [['title', 'what is wrong, in a few words']],
  options: {
    '--kind <kind>': {
      text: 'outage, degraded or maintenance (default: degraded)',
      choices: INCIDENT_KINDS,
    },
    '--message <text>': 'what users notice, and what is being done',
    '--from <time>': 'when it began or will begin, e.g. 2026-12-24T08:00Z (default: now)',
  },
  examples: ['incidents add "Images are slow" --message "Our provider has problems. Jobs take longer."'],
  shape: 'Incident',
  run: async (...call): Promise<Outcome<'Incident'>> => (await import('./incidents.js')).addIncidentCommand(...call),
});

const INCIDENT = ['id', 'id of the incident, see "incidents list"'] as const;

export const updateIncident = defineCommand({
  name: 'incidents update',
  summary: 'say on the status page what is known of an incident now',
  arguments: [INCIDENT, ['text', 'what is known now']],
  options: {
    '--state <state>': {
      text: 'investigating, identified, monitoring or resolved, which ends it (default: as before)',
      choices: INCIDENT_STATES,
    },
  },
  examples: ['incidents update inc_1f0c93ab "A server failed. Jobs wait and are not lost." --state identified'],
  shape: 'Incident',
  run: async (...call): Promise<Outcome<'Incident'>> => (await import('./incidents.js')).updateIncidentCommand(...call),
});

export const closeIncident = defineCommand({
  name: 'incidents close',
  summary: 'end an incident',
  arguments: [INCIDENT],
  options: { '--message <text>': 'how it ended' },
  shape: 'Incident',
  run: async (...call): Promise<Outcome<'Incident'>> => (await import('./incidents.js')).closeIncidentCommand(...call),
});

export const listIncidents = defineCommand({
  name: 'incidents list',
  isDefault: true,
  summary: 'list the incidents of the status page, latest first',
  options: { '--limit <number>': 'maximum number (default: 100)' },
  shape: 'Incidents',
  run: async (...call): Promise<Outcome<'Incidents'>> => (await import('./incidents.js')).listIncidentsCommand(...call),
});

export const listAlerts = defineCommand({
  name: 'alerts list',
  isDefault: true,
  summary: 'list the alerts that are not closed, latest first',
  options: { '--all': 'also closed ones, of the last 90 days', '--limit <number>': 'maximum number (default: 100)' },
  shape: 'Alerts',
  run: async (...call): Promise<Outcome<'Alerts'>> => (await import('./alerts.js')).listAlertsCommand(...call),
});

export const acknowledgeAlert = defineCommand({
  name: 'alerts acknowledge',
  summary: 'end the daily repetition of an open alert',
  arguments: [['id', 'id of the alert, see "alerts list"']],
  options: { '--note <text>': 'reason; stored with your name in the audit log' },
  shape: 'Alert',
  run: async (...call): Promise<Outcome<'Alert'>> => (await import('./alerts.js')).acknowledgeAlertCommand(...call),
});

const ALERT_COMMANDS = [
  listAlerts,
  acknowledgeAlert,
  defineCommand({
    name: 'alerts test',
    summary: 'send a message to the webhook and the addresses of alerts',
    shape: 'AlertTests',
    run: async (...call): Promise<Outcome<'AlertTests'>> => (await import('./alerts.js')).testAlertsCommand(...call),
  }),
  defineCommand({
    name: 'alerts secret',
    summary: 'print the secret that webhooks of ALERT_WEBHOOK_URL are signed with',
    json: false,
    run: async (...call): Promise<Outcome> => (await import('./alerts.js')).alertSecretCommand(...call),
  }),
];

const INCIDENT_COMMANDS = [
  listIncidents,
  addIncident,
  updateIncident,
  defineCommand({
    name: 'incidents rename',
    summary: 'give an incident another title',
    arguments: [INCIDENT, ['title', 'what is wrong, in a few words']],
    shape: 'Incident',
    run: async (...call): Promise<Outcome<'Incident'>> =>
      (await import('./incidents.js')).renameIncidentCommand(...call),
  }),
  closeIncident,
];

export const GATEWAY_COMMANDS = [
  ...JOB_COMMANDS,
  ...LINK_COMMANDS,
  ...INCIDENT_COMMANDS,
  ...ALERT_COMMANDS,
  ...STATE_COMMANDS,
  ...OFFLINE_COMMANDS,
];
