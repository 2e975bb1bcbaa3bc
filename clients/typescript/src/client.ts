import { ChecksumError, ConnectionError, StandinError, UnexpectedResponseError, WaitTimeoutError } from './errors.js';
import { type Client, createClient, createConfig } from './generated/client/index.js';
import * as api from './generated/sdk.gen.js';
import type {
  Calendar,
  CalendarCreate,
  CalendarEvent,
  CalendarPatch,
  CalendarSync,
  CameraPicture,
  CreatedKey,
  Delivery,
  DeliveryDetails,
  FailedDeliveries,
  Job,
  JobBatchItem,
  JobCreate,
  JobDetails,
  JobPatch,
  JobSettings,
  Key,
  KeyCreate,
  ListedJob,
  ListJobsData,
  ListTeamDeliveriesData,
  Manifest,
  Me,
  MediaFile,
  SharedPicture,
  SpeakText,
  TextMatch,
  TimelineEntry,
  Transcript,
  TranscriptionRequest,
  UsageReport,
  WebhookEndpoint,
  WebhookEndpointCreate,
  WebhookEndpointPatch,
  WebhookSecret,
  WebhookTestResult,
} from './generated/types.gen.js';
import { events, type LiveEvent } from './live.js';
import { Pages, type PageOptions } from './pages.js';
import { backoff, chunks, type Logger, send, type Sending, sleep } from './retry.js';
import { Sha256 } from './sha256.js';
import { version } from './version.js';

const liveSilenceMs = 60_000; // the service sends a comment every 15 seconds

export interface Options {
  /** For example `https://standin.example.com`. Default: the environment variable STANDIN_URL. */
  baseUrl?: string;
  /** An API key. Never put one into a page: its users can read it. Default: the environment variable STANDIN_API_KEY. */
  apiKey?: string;
  /** Milliseconds to wait for a response, or for data of a stream. Default: 30,000. */
  timeoutMs?: number;
  /**
   * How often a request is repeated after a 408, a 429, or an error of the service or the connection. The service executes each
   * once. The pause is what `Retry-After` says, up to a minute, else half a second that doubles each time. Default: 2.
   */
  maxRetries?: number;
  /** For example `console`. By default, nothing is logged. */
  logger?: Logger;
  /** Another implementation of fetch. */
  fetch?: typeof fetch;
}

/** Which webhooks to list. */
export type DeliveryFilter = NonNullable<ListTeamDeliveriesData['query']>;

/** A job as the response to a request for it. */
export interface CreatedJob extends Job {
  /** Whether the job existed before: another request had the same externalId, or was for the same meeting. */
  replayed: boolean;
  /** What of the request will probably not work, for example a link that leads to no meeting. Empty if nothing. */
  warning: string;
}

/** Which jobs to list. */
export type JobFilter = Omit<NonNullable<ListJobsData['query']>, 'metadata'> & {
  /** Values that the metadata must have. */
  metadata?: Record<string, string>;
};

/** The commands without arguments. */
export type Command =
  | 'request-recording-permission'
  | 'pause-recording'
  | 'resume-recording'
  | 'stop-recording'
  | 'leave-call'
  | 'stop-output';

const commands = {
  'request-recording-permission': api.requestRecordingPermission,
  'pause-recording': api.pauseRecording,
  'resume-recording': api.resumeRecording,
  'stop-recording': api.stopRecording,
  'leave-call': api.leaveCall,
  'stop-output': api.stopOutput,
} satisfies Record<Command, unknown>;

/** An audio file to play: its URL, or its content, which may be about 750 kB long. */
export type Audio = { uri: string } | { data: Uint8Array };

/** Returns whether a job has ended: completed, failed or cancelled. */
export function isFinal(job: Pick<Job, 'status'>): boolean {
  return job.status === 'completed' || job.status === 'failed' || job.status === 'cancelled';
}

/**
 * Calls the API of one service with one API key. Methods reject with a StandinError, or with the reason of an aborted
 * signal.
 */
export class Standin {
  /** For the functions in `standin-client/generated`, one for each operation. */
  readonly api: Client;
  readonly #options: Options;
  readonly #baseUrl: string;
  readonly #apiKey: string;
  readonly #how: Sending;
  readonly #json: Client;

  constructor(options: Options = {}) {
    this.#options = options;
    this.#baseUrl = setting(options.baseUrl, 'baseUrl', 'STANDIN_URL').replace(/\/+$/, '');
    if (!/^https?:/.test(this.#baseUrl) || !URL.canParse(this.#baseUrl)) {
      throw new StandinError(`${JSON.stringify(this.#baseUrl)} is not an http or https URL`);
    }
    this.#apiKey = setting(options.apiKey, 'apiKey', 'STANDIN_API_KEY');
    this.#how = {
      fetch: options.fetch ?? globalThis.fetch,
      timeoutMs: options.timeoutMs ?? 30_000,
      maxRetries: options.maxRetries ?? 2,
      logger: options.logger,
    };
    this.api = this.#client(this.#apiKey, false);
    this.#json = this.#client(this.#apiKey, true);
  }

  /** Returns a client with other options, for example the time and the retries of a single call. */
  withOptions(options: Options): Standin {
    return new Standin({ ...this.#options, ...options });
  }

  /** Creates a job, or returns the one with the same `externalId`. */
  async createJob(job: JobCreate): Promise<CreatedJob> {
    const { data, response } = await api.createJob({ ...this.#call, body: job });
    return {
      ...data,
      replayed: response.headers.get('idempotent-replayed') === 'true',
      warning: response.headers.get('x-standin-warning') ?? '',
    };
  }

  /** Creates up to 100 jobs. Each has a result, in the same order: an invalid one does not refuse the others. */
  async createJobs(jobs: JobCreate[]): Promise<JobBatchItem[]> {
    return (await api.createJobs({ ...this.#call, body: { jobs } })).data.results;
  }

  /** Returns a job. */
  async getJob(jobId: string): Promise<Job> {
    return (await api.getJob({ ...this.#call, path: { id: asId(jobId) } })).data;
  }

  /** Returns a job with its options, participants and explained outcome. */
  async getJobDetails(jobId: string): Promise<JobDetails> {
    return (await api.getJobDetails({ ...this.#call, path: { id: asId(jobId) } })).data;
  }

  /** Lists the jobs that match, newest first. */
  listJobs({ metadata = {}, cursor, limit, ...filter }: JobFilter = {}): Pages<ListedJob> {
    const pairs = Object.entries(metadata).map(([key, value]) => `${key}=${value}`);
    return new Pages(
      async (query) => {
        const { data } = await api.listJobs({ ...this.#call, query: { ...filter, metadata: pairs, ...query } });
        return { items: data.jobs, nextCursor: data.nextCursor };
      },
      { cursor, limit },
    );
  }

  /** Changes a job that is not yet dispatched. For other jobs it rejects with an InvalidStateError. */
  async updateJob(jobId: string, changes: JobPatch): Promise<Job> {
    return (await api.patchJob({ ...this.#call, path: { id: asId(jobId) }, body: changes })).data;
  }

  /** Cancels a job. A job that has ended does not change. */
  async cancelJob(jobId: string): Promise<void> {
    await api.cancelJob({ ...this.#call, path: { id: asId(jobId) } });
  }

  /** Returns the settings of a job that are not part of the job. */
  async getJobSettings(jobId: string): Promise<JobSettings> {
    return (await api.getJobSettings({ ...this.#call, path: { id: asId(jobId) } })).data;
  }

  /** Queues a command for the bot and returns the ID of the command. */
  async sendCommand(jobId: string, command: Command): Promise<string> {
    return (await commands[command]({ ...this.#call, path: { id: asId(jobId) } })).data.commandId;
  }

  /** Sends a message to the chat of the meeting and returns the ID of the command. */
  async sendChatMessage(jobId: string, text: string): Promise<string> {
    return (await api.sendChatMessage({ ...this.#call, path: { id: asId(jobId) }, body: { text } })).data.commandId;
  }

  /** Pins the video of a participant and returns the ID of the command. */
  async pinParticipant(jobId: string, participantId: string): Promise<string> {
    const body = { participantId };
    return (await api.pinParticipant({ ...this.#call, path: { id: asId(jobId) }, body })).data.commandId;
  }

  /**
   * Plays an audio file in the meeting and returns the ID of the command. With `interrupt` it replaces what is being played and
   * what waits. The job needs the option `output`. What becomes of it is an event `output` of `live`.
   */
  async playAudio(jobId: string, audio: Audio, options: { interrupt?: boolean } = {}): Promise<string> {
    const file = 'uri' in audio ? audio : { data: base64(audio.data) };
    return (await api.playAudio({ ...this.#call, path: { id: asId(jobId) }, body: { ...file, ...options } })).data.commandId;
  }

  /** Speaks a text in the meeting and returns the ID of the command. See `playAudio`. */
  async speak(jobId: string, text: string, options: Omit<SpeakText, 'text'> = {}): Promise<string> {
    return (await api.speak({ ...this.#call, path: { id: asId(jobId) }, body: { ...options, text } })).data.commandId;
  }

  /**
   * Shows an image, a video or a web page as the camera of the bot, or turns it off, and returns the ID of the command. The job
   * needs the option `output`.
   */
  async setCamera(jobId: string, picture: CameraPicture): Promise<string> {
    return (await api.setCamera({ ...this.#call, path: { id: asId(jobId) }, body: picture })).data.commandId;
  }

  /**
   * Shares an image or a web page as the screen of the bot, or ends the screen share, and returns the ID of the command. The job
   * needs the option `output`.
   */
  async shareScreen(jobId: string, picture: SharedPicture): Promise<string> {
    return (await api.shareScreen({ ...this.#call, path: { id: asId(jobId) }, body: picture })).data.commandId;
  }

  /** Returns what the bot sees, as a JPEG image. Rejects with an InvalidStateError as long as it is not in a meeting. */
  async getScreenshot(jobId: string): Promise<Uint8Array> {
    const response = await this.#stream(`/api/v1/jobs/${asId(jobId)}/screenshot`, {});
    return new Uint8Array(await response.arrayBuffer());
  }

  /**
   * Waits until a job has ended, and returns it as it is then: completed, failed or cancelled.
   *
   * It reads the job at an interval of `intervalMs` (default: 5,000, at least 1,000), and rejects with a WaitTimeoutError
   * after `timeoutMs`. Webhooks and `live` tell sooner.
   */
  async waitUntilDone(
    jobId: string,
    options: { timeoutMs?: number; intervalMs?: number; signal?: AbortSignal } = {},
  ): Promise<Job> {
    const end = Date.now() + (options.timeoutMs ?? Number.POSITIVE_INFINITY);
    for (;;) {
      const job = await this.getJob(jobId);
      if (isFinal(job)) return job;
      const left = end - Date.now();
      if (left <= 0) throw new WaitTimeoutError(`job ${jobId} is still ${job.status} after ${options.timeoutMs} ms`);
      await sleep(Math.min(Math.max(options.intervalMs ?? 5_000, 1_000), left), options.signal);
    }
  }

  /**
   * Follows a job, from its beginning or after an event, until the event `end`. It reconnects when the connection is lost,
   * and continues after the last event.
   */
  async *live(
    jobId: string,
    options: { lastEventId?: string; signal?: AbortSignal } = {},
  ): AsyncGenerator<LiveEvent, void, undefined> {
    let last = options.lastEventId;
    for (let failures = 0; ; failures++) {
      const began = Date.now();
      let lost: unknown;
      try {
        const headers = { accept: 'text/event-stream', ...(last && { 'last-event-id': last }) };
        const response = await this.#stream(`/api/v1/jobs/${asId(jobId)}/live`, headers, options.signal);
        if (response.status === 204) return; // the job has ended, and nothing is left
        for await (const event of events(chunks(response, liveSilenceMs, options.signal))) {
          failures = 0;
          last = event.id ?? last;
          yield event;
          if (event.event === 'end') return;
        }
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        lost = error;
      }
      if (Date.now() - began > liveSilenceMs) failures = 0; // the service closes streams after an hour
      if (failures >= this.#how.maxRetries) {
        throw new ConnectionError(`the stream of job ${jobId} was lost`, { cause: lost });
      }
      await sleep(backoff(failures), options.signal);
    }
  }

  /** Returns the manifest of a recording. Rejects with a NotFoundError as long as there is none. */
  async getManifest(jobId: string): Promise<Manifest> {
    return (await api.getManifest({ ...this.#call, path: { id: asId(jobId) } })).data;
  }

  /** Returns the transcript, or the captions of the platform. Rejects with a NotFoundError as long as there is neither. */
  async getTranscript(jobId: string): Promise<Transcript> {
    const query = { format: 'json' } as const;
    return (await api.getTranscript({ ...this.#call, path: { id: asId(jobId) }, query })).data as Transcript;
  }

  /** Searches the transcripts, captions and chats of complete recordings for texts with all words, or words that begin with them. */
  async search(words: string, limit = 50): Promise<TextMatch[]> {
    return (await api.searchTexts({ ...this.#call, query: { q: words, limit } })).data.matches;
  }

  /**
   * Queues another transcription of a recording. Its transcript replaces the current one. Options that are not given are those
   * of the job, or else of the service. It rejects with an InvalidStateError if that is not possible now.
   */
  async transcribeAgain(jobId: string, options: TranscriptionRequest = {}): Promise<void> {
    await api.transcribeAgain({ ...this.#call, path: { id: asId(jobId) }, body: options });
  }

  /** Returns the transcript as WebVTT, or as plain text with a line for each segment. */
  async getTranscriptText(jobId: string, format: 'vtt' | 'text'): Promise<string> {
    return await (await this.#stream(`/api/v1/jobs/${asId(jobId)}/transcript?format=${format}`, {})).text();
  }

  /**
   * Downloads a file of a manifest. The stream reconnects when the connection is lost and continues where it stopped. It fails
   * with a ChecksumError at its end if the size or the SHA-256 is not that of the manifest: discard what was read then.
   * Browsers cannot compute a SHA-256 piece by piece, so there the file is held in memory.
   */
  download(jobId: string, file: MediaFile, options: { signal?: AbortSignal } = {}): ReadableStream<Uint8Array> {
    const source = this.#download(jobId, file, options.signal);
    return new ReadableStream({
      async pull(controller) {
        const { done, value } = await source.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await source.return();
      },
    });
  }

  /**
   * Stores a file of a recording, for bots that are not Standin's own. The token is that of the attempt. The SHA-256 is sent
   * too, so that a damaged body is refused.
   */
  async uploadMedia(token: string, jobId: string, attempt: number, name: string, content: Uint8Array): Promise<void> {
    const sum = new Sha256();
    sum.update(content);
    await api.uploadMedia({
      client: this.#client(token, true),
      throwOnError: true,
      path: { jobId: asId(jobId), attempt, name },
      headers: { 'x-content-sha256': await sum.hex() },
      body: new Blob([new Uint8Array(content)]),
    });
  }

  /** Deletes all files of a recording. */
  async deleteRecording(jobId: string): Promise<void> {
    await api.deleteRecording({ ...this.#call, path: { id: asId(jobId) } });
  }

  /** Lists the history of a job, oldest first. */
  listTimeline(jobId: string, options: PageOptions = {}): Pages<TimelineEntry> {
    return new Pages(async (query) => {
      const { data } = await api.listTimeline({ ...this.#call, path: { id: asId(jobId) }, query });
      return { items: data.entries, nextCursor: data.nextCursor };
    }, options);
  }

  /** Lists the webhooks of a job, in the order of their events. */
  listDeliveries(jobId: string, options: PageOptions = {}): Pages<Delivery> {
    return new Pages(async (query) => {
      const { data } = await api.listDeliveries({ ...this.#call, path: { id: asId(jobId) }, query });
      return { items: data.deliveries, nextCursor: data.nextCursor };
    }, options);
  }

  /** Sends a webhook again that was delivered or failed permanently. */
  async redeliver(jobId: string, deliveryId: string): Promise<Delivery> {
    return (await api.redeliver({ ...this.#call, path: { id: asId(jobId), deliveryId } })).data;
  }

  /** Sends webhooks again that failed permanently, and returns their number. */
  async redeliverFailed(which: FailedDeliveries): Promise<number> {
    return (await api.redeliverFailed({ ...this.#call, body: which })).data.count;
  }

  /** Lists the webhooks of the team, newest first. */
  listTeamDeliveries({ cursor, limit, ...filter }: DeliveryFilter = {}): Pages<Delivery> {
    return new Pages(
      async (query) => {
        const { data } = await api.listTeamDeliveries({ ...this.#call, query: { ...filter, ...query } });
        return { items: data.deliveries, nextCursor: data.nextCursor };
      },
      { cursor, limit },
    );
  }

  /** Returns a webhook of the team with the request of its latest attempt. */
  async getDelivery(deliveryId: string): Promise<DeliveryDetails> {
    return (await api.getDelivery({ ...this.#call, path: { deliveryId } })).data;
  }

  /** Sends a webhook of the team again that was delivered or failed permanently. */
  async redeliverDelivery(deliveryId: string): Promise<Delivery> {
    return (await api.redeliverDelivery({ ...this.#call, path: { deliveryId } })).data;
  }

  /** Registers an endpoint for the events of all jobs. */
  async createWebhookEndpoint(endpoint: WebhookEndpointCreate): Promise<WebhookEndpoint> {
    return (await api.createWebhookEndpoint({ ...this.#call, body: endpoint })).data;
  }

  /** Returns an endpoint with its health. */
  async getWebhookEndpoint(endpointId: string): Promise<WebhookEndpoint> {
    return (await api.getWebhookEndpoint({ ...this.#call, path: { id: asId(endpointId) } })).data;
  }

  /** Changes a registered endpoint. */
  async updateWebhookEndpoint(endpointId: string, changes: WebhookEndpointPatch): Promise<WebhookEndpoint> {
    return (await api.patchWebhookEndpoint({ ...this.#call, path: { id: asId(endpointId) }, body: changes })).data;
  }

  /** Posts an example of an event, by default the first one that the endpoint takes, and returns the response. */
  async testWebhookEndpoint(endpointId: string, event?: string): Promise<WebhookTestResult> {
    const body = event === undefined ? {} : { event };
    return (await api.testWebhookEndpoint({ ...this.#call, path: { id: asId(endpointId) }, body })).data;
  }

  /** Sends the pending webhooks of an endpoint now. */
  async retryWebhookEndpoint(endpointId: string): Promise<WebhookEndpoint> {
    return (await api.retryWebhookEndpoint({ ...this.#call, path: { id: asId(endpointId) } })).data;
  }

  /** Deletes a registered endpoint. Its pending webhooks fail. */
  async deleteWebhookEndpoint(endpointId: string): Promise<void> {
    await api.deleteWebhookEndpoint({ ...this.#call, path: { id: asId(endpointId) } });
  }

  /** Lists the registered endpoints, and the URLs of jobs that webhooks were sent to. */
  listWebhookEndpoints(options: PageOptions = {}): Pages<WebhookEndpoint> {
    return new Pages(async (query) => {
      const { data } = await api.listWebhookEndpoints({ ...this.#call, query });
      return { items: data.endpoints, nextCursor: data.nextCursor };
    }, options);
  }

  /** Returns the key of this client, its team, and the version of the service. */
  async me(): Promise<Me> {
    return (await api.getMe(this.#call)).data;
  }

  /** Returns a new webhook secret, which cannot be read again. The old one also signs for a day. */
  async rotateWebhookSecret(): Promise<WebhookSecret> {
    return (await api.rotateWebhookSecret(this.#call)).data;
  }

  /** Returns what the team has used from one day (UTC), such as 2026-11-26, to another, both included. Default: the last 30 days. */
  async getUsage(days: { from?: string; to?: string } = {}): Promise<UsageReport> {
    return (await api.getUsage({ ...this.#call, query: days })).data as UsageReport; // not a table
  }

  /**
   * Lists the keys of the team that are not revoked, newest first. As for creating and revoking keys, this needs a key
   * with the scope `admin`.
   */
  listKeys(options: PageOptions = {}): Pages<Key> {
    return new Pages(async (query) => {
      const { data } = await api.listKeys({ ...this.#call, query });
      return { items: data.keys, nextCursor: data.nextCursor };
    }, options);
  }

  /** Creates a key. Its secret is in the result, and cannot be read again. */
  async createKey(key: KeyCreate): Promise<CreatedKey> {
    return (await api.createKey({ ...this.#call, body: key })).data;
  }

  /** Revokes a key, which stops working immediately. */
  async revokeKey(keyId: string): Promise<void> {
    await api.revokeKey({ ...this.#call, path: { id: asId(keyId) } });
  }

  /** Connects a calendar, whose meetings get bots as its rules say. Needs a live key. */
  async connectCalendar(calendar: CalendarCreate): Promise<Calendar> {
    return (await api.createCalendar({ ...this.#call, body: calendar })).data;
  }

  /** Lists the connected calendars, oldest first. */
  listCalendars(options: PageOptions = {}): Pages<Calendar> {
    return new Pages(async (query) => {
      const { data } = await api.listCalendars({ ...this.#call, query });
      return { items: data.calendars, nextCursor: data.nextCursor };
    }, options);
  }

  /** Returns a calendar. */
  async getCalendar(calendarId: string): Promise<Calendar> {
    return (await api.getCalendar({ ...this.#call, path: { id: asId(calendarId) } })).data;
  }

  /** Changes a calendar, which the service then reads again. */
  async updateCalendar(calendarId: string, changes: CalendarPatch): Promise<Calendar> {
    return (await api.patchCalendar({ ...this.#call, path: { id: asId(calendarId) }, body: changes })).data;
  }

  /** Reads a calendar now. If it cannot be read, the `state` of the calendar is `failing` or `revoked`. */
  async syncCalendar(calendarId: string): Promise<CalendarSync> {
    return (await api.syncCalendar({ ...this.#call, path: { id: asId(calendarId) } })).data;
  }

  /** Disconnects a calendar, and cancels the jobs that only it asked for. */
  async disconnectCalendar(calendarId: string): Promise<void> {
    await api.deleteCalendar({ ...this.#call, path: { id: asId(calendarId) } });
  }

  /** Lists the upcoming meetings of a calendar, by their start. */
  listCalendarEvents(calendarId: string, options: PageOptions = {}): Pages<CalendarEvent> {
    return new Pages(async (query) => {
      const { data } = await api.listCalendarEvents({ ...this.#call, path: { id: asId(calendarId) }, query });
      return { items: data.events, nextCursor: data.nextCursor };
    }, options);
  }

  /** Sends a bot to a meeting, or none. With null, the rules of the calendar decide. */
  async overrideCalendarEvent(calendarId: string, eventId: string, override: boolean | null): Promise<CalendarEvent> {
    const path = { id: asId(calendarId), eventId: asId(eventId) };
    return (await api.patchCalendarEvent({ ...this.#call, path, body: { override } })).data;
  }

  get #call() {
    return { client: this.#json, throwOnError: true } as const;
  }

  /** Returns a client whose responses must be JSON, or need not. */
  #client(token: string, json: boolean): Client {
    const fetching = async (input: string | URL | Request, init?: RequestInit) => {
      const request = new Request(input, init);
      if (agent) request.headers.set('user-agent', agent);
      const response = await send(this.#how, request, false);
      if (json && response.status !== 204) await checkJson(response.clone());
      return response;
    };
    return createClient(createConfig({ baseUrl: this.#baseUrl, auth: token, fetch: fetching }));
  }

  #stream(path: string, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> {
    const request = new Request(this.#baseUrl + path, {
      headers: { authorization: `Bearer ${this.#apiKey}`, ...(agent && { 'user-agent': agent }), ...headers },
      signal: signal ?? null,
    });
    return send(this.#how, request, true);
  }

  async *#download(jobId: string, file: MediaFile, signal?: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    const path = `/api/v1/jobs/${asId(jobId)}/media/${encodeURIComponent(file.name)}`;
    const sum = new Sha256();
    let done = 0;
    for (let failures = 0; done < file.bytes; failures++) {
      const before = done;
      let lost: unknown;
      try {
        const response = await this.#stream(path, done ? { range: `bytes=${done}-` } : {}, signal);
        if (response.status !== (done ? 206 : 200)) {
          throw new StandinError(`the service responded with ${response.status} to a request for ${file.name}`);
        }
        for await (const chunk of chunks(response, this.#how.timeoutMs, signal)) {
          done += chunk.length;
          if (done > file.bytes) throw new ChecksumError(`${file.name} is larger than the manifest says`);
          sum.update(chunk);
          yield chunk;
        }
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        lost = error;
      }
      if (done === file.bytes) break;
      if (done > before) failures = 0;
      if (failures >= this.#how.maxRetries) {
        throw new ConnectionError(`the download of ${file.name} was lost`, { cause: lost });
      }
      await sleep(backoff(failures), signal);
    }
    if ((await sum.hex()) !== file.sha256) {
      throw new ChecksumError(`${file.name} does not have the SHA-256 of the manifest`);
    }
  }
}

const { process } = globalThis as {
  process?: { env?: Record<string, string | undefined>; versions?: { node?: string } }; // undefined in browsers
};
const node = process?.versions?.node;

/** The User-Agent in Node. Browsers have their own. */
const agent = node ? `standin-typescript/${version} node/${node}` : '';

/** Returns an option, by default that of an environment variable. */
function setting(value: string | undefined, name: string, variable: string): string {
  const found = value || process?.env?.[variable];
  if (!found) throw new StandinError(`${name} is missing: give it to the client, or set ${variable}`);
  return found;
}

/** Rejects if a response is not a JSON object. */
async function checkJson(response: Response): Promise<void> {
  const value: unknown = await response.json().catch((error: unknown) => {
    throw new UnexpectedResponseError(`the service responded with ${response.status} and no JSON`, { cause: error });
  });
  if (typeof value !== 'object' || value === null) {
    throw new UnexpectedResponseError(`the service responded with ${response.status} and an unexpected body`);
  }
}

/** Returns the ID of a job. Another text could change the path of the request. */
function asId(id: string): string {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id)) throw new StandinError(`${JSON.stringify(id)} is not a valid ID`);
  return id;
}

/** Encodes bytes, in Node and in browsers. */
function base64(data: Uint8Array): string {
  let text = '';
  for (const byte of data) text += String.fromCharCode(byte);
  return btoa(text);
}
