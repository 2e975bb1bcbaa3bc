// The rows of ../conformance.json. internal/testing/conformance starts the service and sets the environment.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';

import {
  ApiError,
  ChecksumError,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  InvalidInputError,
  InvalidStateError,
  isFinal,
  type Job,
  type JobCreate,
  type LiveEvent,
  type MediaFile,
  NotFoundError,
  type Options,
  receiveWebhook,
  Standin,
  StandinError,
  TimeoutError,
  UnauthorizedError,
  UnexpectedResponseError,
  verifyWebhook,
  version,
  WaitTimeoutError,
} from '../src/index.js';

function setting(name: string): string {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: run make clients-test`);
  return value;
}

const baseUrl = setting('STANDIN_URL');
const apiKey = setting('STANDIN_API_KEY');
const faultsUrl = setting('STANDIN_FAULTS_URL');
const secret = setting('STANDIN_WEBHOOK_SECRET');
const uploadJob = setting('STANDIN_UPLOAD_JOB');
const uploadToken = setting('STANDIN_UPLOAD_TOKEN');

const standin = new Standin({ baseUrl, apiKey });
const meetingUrl = 'https://meet.google.com/abc-defg-hij';
const quick = { simulate: { seconds: 12, speed: 20 }, captions: true, chat: true };
const later = () => new Date(Date.now() + 3_600_000).toISOString();
const unknown = '0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80';

/** Creates a job. */
async function create(options: Partial<JobCreate>): Promise<Job> {
  return await standin.createJob({ externalId: randomUUID(), meetingUrl, ...options });
}

/** Returns a job that has been recorded. */
async function record(): Promise<Job> {
  const { id } = await create({ metadata: quick });
  const done = await standin.waitUntilDone(id, { intervalMs: 1_000, timeoutMs: 60_000 });
  assert.equal(done.status, 'completed');
  return done;
}

/** A job that has been recorded, for tests that only read it. */
const recorded = record();

/** Returns a job whose bot is in the meeting. */
async function attended(options: Partial<JobCreate> = {}): Promise<Job> {
  const job = await create({ metadata: { simulate: 'slow_meeting' }, ...options });
  for await (const event of standin.live(job.id)) {
    if (event.event === 'state' && event.data.status === 'recording_started') break;
  }
  return job;
}

/** Returns a client that calls the service with a fault, and the text that counts its requests. */
function through(fault: string, options: Options = {}): [Standin, string] {
  const text = randomUUID();
  return [new Standin({ baseUrl: `${faultsUrl}/${fault}/${text}`, apiKey, ...options }), text];
}

/** Returns the events that have an ID, and the last one. */
async function follow(client: Standin, jobId: string): Promise<[string[], LiveEvent | undefined]> {
  const events: string[] = [];
  let last: LiveEvent | undefined;
  for await (const event of client.live(jobId)) {
    last = event;
    if (event.id && event.event !== 'end') events.push(`${event.event} ${event.id}`);
  }
  for (const name of ['state', 'caption', 'chat']) {
    assert.ok(events.some((event) => event.startsWith(`${name} `)), `there is no ${name}`);
  }
  assert.ok(last?.event === 'end' && last.data.status === 'completed', `the last event is ${JSON.stringify(last)}`);
  assert.equal(new Set(events).size, events.length, 'an event was received twice');
  return [events, last];
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function video(): Promise<[Job, MediaFile]> {
  const done = await recorded;
  const file = (await standin.getManifest(done.id)).media.find((media) => media.kind === 'video');
  assert.ok(file);
  return [done, file];
}

async function webhookCases() {
  interface Example {
    name: string;
    valid: boolean;
    secret: string;
    now: number;
    headers: [string, string][];
    body: string;
  }
  return (JSON.parse(await readFile('../webhooks.json', 'utf8')) as { cases: Example[] }).cases;
}

async function requestsOf(text: string, fault: string): Promise<number> {
  return Number(await (await fetch(`${faultsUrl}/count/${text}/${fault}`)).text());
}

async function bytes(stream: ReadableStream<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

suite('conformance', { concurrency: true }, () => {
  test('create_job', async () => {
    const joinAt = later();
    const { replayed, warning, ...job } = await standin.createJob({
      externalId: randomUUID(),
      meetingUrl: 'https://us02web.zoom.us/j/123456789',
      joinAt,
      metadata: { customer: 'ada' },
    });
    assert.deepEqual([job.platform, job.status, job.metadata, replayed, warning], ['zoom-web', 'scheduled', { customer: 'ada' }, false, '']);
    assert.equal((await standin.getJob(job.id)).joinAt, joinAt);
  });

  test('replay_job', async () => {
    const first = await create({ joinAt: later() });
    const again = await standin.createJob({ externalId: first.externalId, meetingUrl });
    assert.deepEqual([again.id, again.replayed], [first.id, true]);
  });

  test('job_warnings', async () => {
    const created = await standin.createJob({
      externalId: randomUUID(),
      meetingUrl,
      joinAt: later(),
      metadata: { captions: 'yes' },
    });
    assert.notEqual(created.warning, '');
  });

  test('list_pages', async () => {
    const seen = new Set<string>();
    for await (const job of standin.listJobs({ metadata: { list: 'pages' } })) {
      assert.ok(!seen.has(job.id));
      seen.add(job.id);
    }
    assert.equal(seen.size, 101);
  });

  test('list_filters', async () => {
    const job = await create({ joinAt: later() });
    const filter = { status: ['scheduled', 'pending'], platform: 'meet', externalId: job.externalId, joinFrom: job.joinAt, createdFrom: job.createdAt } as const;
    const list = (more: object) => all(standin.listJobs({ ...filter, status: [...filter.status], ...more }));
    assert.deepEqual((await list({})).map(({ id }) => id), [job.id]);
    assert.deepEqual(await list({ joinTo: job.joinAt }), []);
  });

  test('create_batch', async () => {
    const valid = { externalId: randomUUID(), meetingUrl: 'https://meet.google.com/abc-defg-hij' };
    const [first, invalid] = await standin.createJobs([valid, { externalId: '', meetingUrl: 'no url' }]);
    assert.deepEqual([first?.status, first?.job?.status], [201, 'scheduled']);
    assert.deepEqual([invalid?.status, invalid?.job, invalid?.error?.error], [400, undefined, 'invalid_input']);
  });

  test('job_details', async () => {
    const job = await create({ title: 'Planning', joinAt: later() });
    const details = await standin.getJobDetails(job.id);
    assert.deepEqual([details.id, details.title, details.participants], [job.id, 'Planning', []]);
  });

  test('update_job', async () => {
    const job = await create({ joinAt: later() });
    const joinAt = new Date(Date.parse(job.joinAt) + 60_000).toISOString();
    assert.equal((await standin.updateJob(job.id, { joinAt, displayName: 'Notes' })).joinAt, joinAt);
    assert.equal((await standin.getJobSettings(job.id)).displayName, 'Notes');
  });

  test('cancel_job', async () => {
    const { id } = await create({ joinAt: later() });
    await standin.cancelJob(id);
    const job = await standin.getJob(id);
    assert.deepEqual([job.status, isFinal(job)], ['cancelled', true]);
  });

  test('invalid_input', async () => {
    await assert.rejects(standin.createJob({ meetingUrl: 'no url' } as JobCreate), (error) => {
      assert.ok(error instanceof InvalidInputError);
      assert.deepEqual([error.status, error.code], [400, 'invalid_input']);
      assert.deepEqual(error.issues.map(({ path }) => path.join('.')).sort(), ['externalId', 'meetingUrl']);
      assert.match(error.message, /meetingUrl: /);
      return error.requestId !== '';
    });
  });

  test('unauthorized', async () => {
    await assert.rejects(new Standin({ baseUrl, apiKey: 'standin_test_nobody' }).getJob(uploadJob), UnauthorizedError);
  });

  test('not_found', async () => {
    await assert.rejects(standin.getJob(unknown), NotFoundError);
    await assert.rejects(standin.getJob('..'), StandinError);
  });

  test('invalid_state', async () => {
    const { id } = await create({ joinAt: later() });
    await standin.cancelJob(id);
    await assert.rejects(standin.updateJob(id, { joinAt: later() }), InvalidStateError);
  });

  test('wait_until_done', async () => {
    assert.ok((await record()).manifestUri);
    const { id } = await create({ metadata: { simulate: 'meeting_not_found' } });
    const failed = await standin.waitUntilDone(id, { intervalMs: 1_000 });
    assert.deepEqual([failed.status, failed.failureCode], ['failed', 'meeting_not_found']);
  });

  test('wait_timeout', async () => {
    const { id } = await create({ joinAt: later() });
    await assert.rejects(standin.waitUntilDone(id, { timeoutMs: 100 }), WaitTimeoutError);
    await assert.rejects(standin.waitUntilDone(id, { signal: AbortSignal.timeout(100) }), { name: 'TimeoutError' });
  });

  test('send_commands', async () => {
    const { id } = await attended();
    const message = await standin.sendChatMessage(id, 'Hello');
    const leave = await standin.sendCommand(id, 'leave-call');
    assert.ok(message && leave && message !== leave);
    assert.equal((await standin.waitUntilDone(id, { intervalMs: 1_000 })).status, 'completed');
    assert.equal((await standin.getManifest(id)).end.reason, 'left_on_command');
  });

  test('speak', async () => {
    const { id } = await attended({ output: {} });
    const header = Buffer.from('RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\0\0\0\0', 'latin1');
    header.writeUInt32LE(36 + 3200, 4);
    header.writeUInt32LE(3200, 40);
    const waiting = new Set([
      await standin.playAudio(id, { data: Buffer.concat([header, Buffer.alloc(3200)]) }),
      await standin.speak(id, 'Good morning', { language: 'en', interrupt: true }),
    ]);
    for await (const event of standin.live(id)) {
      if (event.event === 'output' && event.data.state === 'finished') waiting.delete(event.data.commandId);
      if (waiting.size === 0) break;
    }
    assert.equal(waiting.size, 0);
    assert.ok(await standin.sendCommand(id, 'stop-output'));
    const silent = await create({ joinAt: later() });
    await assert.rejects(standin.speak(silent.id, 'Good morning'), InvalidStateError);
  });

  test('live_events', async () => {
    await follow(standin, (await create({ metadata: quick })).id);
  });

  test('live_resume', async () => {
    const { id } = await recorded;
    assert.deepEqual((await follow(through('cut')[0], id))[0], (await follow(standin, id))[0]);
  });

  test('manifest', async () => {
    const { id } = await recorded;
    const manifest = await standin.getManifest(id);
    assert.deepEqual([manifest.schemaVersion, manifest.jobId, manifest.end.reason, manifest.participants.length], [1, id, 'host_ended', 3]);
    const seconds = (manifest.media.find(({ kind }) => kind === 'video')?.durationMs ?? 0) / 1000;
    assert.ok(seconds > 11.5 && seconds < 20, `${seconds} s`); // 20 times as fast: a delay counts 20 times
  });

  test('transcript', async () => {
    const { id } = await recorded;
    const [segment] = (await standin.getTranscript(id)).segments;
    assert.ok(segment?.text);
    assert.equal(segment.source, 'captions');
    assert.match(await standin.getTranscriptText(id, 'vtt'), /^WEBVTT/);
    const unrecorded = await create({ joinAt: later() });
    await assert.rejects(standin.transcribeAgain(unrecorded.id, { language: 'de', keyterms: ['Standin'] }), InvalidStateError);
  });

  test('search', async () => {
    const { id } = await recorded;
    const text = (await standin.getTranscript(id)).segments[0]?.text ?? '';
    const end = Date.now() + 20_000; // texts are indexed after the transcript is stored
    while (!(await standin.search(text, 100)).some((match) => match.jobId === id && match.text === text)) {
      assert.ok(Date.now() < end);
      await setTimeout(100);
    }
  });

  test('download', async () => {
    const { id } = await recorded;
    const { media } = await standin.getManifest(id);
    assert.ok(media.length >= 3);
    for (const file of media) {
      const content = await bytes(standin.download(id, file));
      assert.deepEqual([content.length, createHash('sha256').update(content).digest('hex')], [file.bytes, file.sha256]);
    }
  });

  test('download_resume', async () => {
    const [{ id }, file] = await video();
    assert.equal((await bytes(through('cut')[0].download(id, file))).length, file.bytes);
  });

  test('download_damaged', async () => {
    const [{ id }, file] = await video();
    await assert.rejects(bytes(through('damaged')[0].download(id, file)), ChecksumError);
  });

  test('upload', async () => {
    const upload = (content: string) => standin.uploadMedia(uploadToken, uploadJob, 0, 'typescript.bin', Buffer.from(content));
    await upload('content');
    await upload('content');
    await assert.rejects(upload('other'), InvalidStateError);
  });

  test('delete_recording', async () => {
    const { id } = await record();
    await standin.deleteRecording(id);
    await assert.rejects(standin.getManifest(id), NotFoundError);
  });

  test('history', async () => {
    const { id } = await create({ joinAt: later(), webhooks: { onStatusChange: 'http://127.0.0.1:1/' } });
    await standin.cancelJob(id);
    assert.ok((await all(standin.listTimeline(id))).length > 0);
    const deliveries = await all(standin.listDeliveries(id));
    assert.deepEqual([...new Set(deliveries.map(({ event }) => event))], ['job.status_changed']);
  });

  test('webhook_endpoints', async () => {
    const url = `http://127.0.0.1:1/${randomUUID()}`;
    const { id } = await standin.createWebhookEndpoint({ url, events: ['calendar.state_changed'] });
    const changed = await standin.updateWebhookEndpoint(id, { events: ['calendar.event_updated'], description: 'calls' });
    assert.deepEqual(changed.events, ['calendar.event_updated']);
    assert.equal((await standin.getWebhookEndpoint(id)).description, 'calls');
    const { event, acknowledged, error } = await standin.testWebhookEndpoint(id);
    assert.deepEqual([event, acknowledged, Boolean(error)], ['calendar.event_updated', false, true]);
    assert.equal((await standin.retryWebhookEndpoint(id)).id, id);
    assert.equal(await standin.redeliverFailed({ endpointId: id }), 0);
    assert.deepEqual(await all(standin.listTeamDeliveries({ endpointId: id })), []);
    await assert.rejects(standin.getDelivery('dlv_unknown'), NotFoundError);
    await assert.rejects(standin.redeliverDelivery('dlv_unknown'), NotFoundError);
    await standin.deleteWebhookEndpoint(id);
    assert.ok(!(await all(standin.listWebhookEndpoints())).some((other) => other.id === id));
  });

  test('keys', async () => {
    assert.ok((await standin.getUsage()).total.jobs >= 0);
    const key = await standin.createKey({ name: randomUUID(), scope: 'read' });
    assert.ok((await all(standin.listKeys())).some(({ name }) => name === key.name));
    const reading = new Standin({ baseUrl, apiKey: key.key });
    assert.equal((await reading.me()).key.id, key.id);
    await standin.revokeKey(key.id);
    await assert.rejects(reading.me(), UnauthorizedError);
  });

  test('calendars', async () => {
    assert.deepEqual(await all(standin.listCalendars()), []);
    await assert.rejects(standin.connectCalendar({ name: 'Ada', icsUrl: 'https://example.com/a.ics' }), InvalidStateError);
    await assert.rejects(standin.getCalendar(unknown), NotFoundError);
  });

  test('verify_webhooks', async () => {
    for (const example of await webhookCases()) {
      const options = { now: new Date(example.now * 1000) };
      const lists: Record<string, string[]> = {};
      for (const [name, value] of example.headers) (lists[name] ??= []).push(value);
      // The headers of fetch, of node:http, and a list; the body as text and as bytes.
      for (const headers of [new Headers(example.headers), lists, example.headers]) {
        for (const body of [example.body, Buffer.from(example.body)]) {
          const accepted = await verifyWebhook(headers, body, example.secret, options).then(() => true, () => false);
          assert.equal(accepted, example.valid, example.name);
        }
      }
    }
  });

  test('receiver', async () => {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as { port: number };
    probe.close();
    const receiver = spawn(process.execPath, ['examples/receiver.mjs'], {
      env: { PATH: process.env.PATH, PORT: String(port), STANDIN_WEBHOOK_SECRET: secret },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const lines = createInterface(receiver.stdout)[Symbol.asyncIterator]();
      assert.match((await lines.next()).value, /listening/);
      const url = `http://127.0.0.1:${port}/hooks`;
      const forged = await fetch(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
      assert.equal(forged.status, 400);
      const { id } = await create({ metadata: quick, webhooks: { onStatusChange: url, onFinalize: url } });
      const received: string[] = [];
      for (;;) {
        const { value } = await lines.next();
        received.push(value);
        if (value === `job.finalized ${id}`) break;
      }
      assert.ok(received.includes(`job.status_changed ${id}`));
    } finally {
      receiver.kill();
    }
  });

  test('retry_after', async () => {
    const { id } = await attended();
    const began = Date.now();
    await through('busy')[0].sendChatMessage(id, 'Hello');
    assert.ok(Date.now() - began >= 2_000);
  });

  test('retry_unavailable', async () => {
    await through('unavailable')[0].createJob({ externalId: randomUUID(), meetingUrl, joinAt: later() });
  });

  test('retry_once', async () => {
    const name = randomUUID();
    await through('lost')[0].createKey({ name });
    assert.equal((await all(standin.listKeys())).filter((key) => key.name === name).length, 1);
  });

  test('timeout', async () => {
    const [silent, text] = through('silent', { timeoutMs: 3000 });
    await assert.rejects(silent.getJob(uploadJob), TimeoutError);
    assert.equal(await requestsOf(text, 'silent'), 3);
  });

  test('retry_after_date', async () => {
    const began = Date.now();
    await through('dated')[0].me();
    assert.ok(Date.now() - began >= 2_000);
  });

  test('unknown_values', async () => {
    const [newer] = through('later');
    const job = await create({ joinAt: later() });
    const failed = await create({ metadata: { simulate: 'meeting_not_found' } });
    await standin.waitUntilDone(failed.id, { intervalMs: 1_000 });
    const read = await newer.getJob(job.id);
    assert.deepEqual([read.status, read.platform, isFinal(read)] as unknown[], ['levitating', 'holodeck', false]);
    const listed = await all(newer.listJobs({ externalId: job.externalId }));
    assert.deepEqual(listed.map(({ status }) => status) as string[], ['levitating']);
    assert.equal((await newer.getJob(failed.id)).failureCode as string, 'swallowed');
    const events: string[] = [];
    for await (const { event } of newer.live((await recorded).id)) events.push(event);
    assert.ok(events.includes('applause'));
  });

  test('page', async () => {
    const metadata = { list: 'pages' };
    const first = await standin.listJobs({ metadata, limit: 60 }).page();
    assert.ok(first.nextCursor);
    const rest = await all(standin.listJobs({ metadata, limit: 60, cursor: first.nextCursor }).pages());
    assert.deepEqual([first, ...rest].map(({ items }) => items.length), [60, 41]);
    assert.ok(rest[0]?.nextCursor === null && !rest[0].items.some(({ id }) => id === first.items[0]?.id));
  });

  test('plain_arguments', async () => {
    const metadata = { customer_id: { of_team: 7 } };
    const job = await create({ joinAt: later(), metadata, autoLeave: { afterSoloSeconds: 60 }, recording: { mode: 'audio' } });
    assert.deepEqual([job.metadata, job.autoLeave.afterSoloSeconds], [metadata, 60]);
    assert.equal((await standin.getJobSettings(job.id)).recording?.mode, 'audio');
  });

  test('forbidden', async () => {
    const { key } = await standin.createKey({ name: randomUUID(), scope: 'read' });
    const reading = standin.withOptions({ apiKey: key });
    await assert.rejects(reading.createJob({ externalId: randomUUID(), meetingUrl }), ForbiddenError);
  });

  test('conflict', async () => {
    await assert.rejects(through('conflict')[0].me(), (error) => {
      assert.ok(error instanceof ConflictError && !(error instanceof InvalidStateError));
      return error.code === 'in_use';
    });
  });

  test('unexpected_body', async () => {
    for (const fault of ['page', 'broken']) {
      const [client, text] = through(fault);
      await assert.rejects(client.getJob(uploadJob), UnexpectedResponseError);
      await assert.rejects(client.cancelJob(uploadJob), UnexpectedResponseError);
      await assert.rejects(client.listJobs().page(), UnexpectedResponseError);
      assert.equal(await requestsOf(text, fault), 3);
    }
  });

  test('connection_error', async () => {
    const [closed, text] = through('closed', { maxRetries: 1 });
    await assert.rejects(closed.getJob(uploadJob), ConnectionError);
    assert.equal(await requestsOf(text, 'closed'), 2);
    for (const url of ['file:///', 'http://[', 'no url']) assert.throws(() => new Standin({ baseUrl: url }), StandinError);
  });

  test('environment', async () => {
    assert.ok((await new Standin().me()).consumer);
    delete process.env.STANDIN_API_KEY; // no other test reads it
    assert.throws(() => new Standin(), /STANDIN_API_KEY/);
    process.env.STANDIN_API_KEY = apiKey;
  });

  test('call_options', async () => {
    const [silent, text] = through('silent');
    await assert.rejects(silent.withOptions({ timeoutMs: 300, maxRetries: 0 }).getJob(uploadJob), TimeoutError);
    assert.ok((await requestsOf(text, 'silent')) <= 1);
  });

  test('user_agent', async () => {
    const { version: packaged } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string };
    assert.equal(version, packaged);
    await assert.rejects(through('agent')[0].me(), (error) => {
      return error instanceof ApiError && error.message.includes(`standin-typescript/${version} node/`);
    });
  });

  test('logging', async () => {
    const lines: string[] = [];
    const log = (level: string) => (line: string) => lines.push(`${level} ${line}`);
    const [unavailable, text] = through('unavailable', { logger: { debug: log('debug'), warn: log('warn') } });
    await unavailable.me();
    assert.deepEqual(lines.map((line) => line.split(' ')[0]), ['debug', 'warn', 'debug', 'warn', 'debug']);
    assert.ok(lines.every((line) => line.includes(`GET /unavailable/${text}/api/v1/me`) && !line.includes(apiKey)));
  });

  test('webhook_data', async () => {
    const seen = new Set<string>();
    for (const { name, headers, body, secret: key, now } of await webhookCases()) {
      if (!name.startsWith('event ')) continue;
      const hook = await receiveWebhook(headers, body, key, { now: new Date(now * 1000) });
      seen.add(hook.event);
      assert.equal(`event ${hook.event}`, name);
      if (hook.event === 'job.finalized') assert.ok(hook.data.job.status === 'completed' && hook.data.manifestUri);
      if (hook.event === 'chat.message') assert.ok(hook.data.message.text);
      if (name === 'event bot.levitated') assert.deepEqual(hook.data as object, { event: 'bot.levitated', jobId: unknown, height: 3 });
    }
    assert.ok(seen.size > 15);
  });
});
