import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { createAppTester } from 'zapier-platform-core';
import { validateAppDefinition } from 'zapier-platform-schema';

import app from '../index.js';
import { verifySignature } from '../signature.js';

const { TMP, STANDIN_URL } = process.env;
const read = (name) => readFileSync(`${TMP}/${name}`, 'utf8').trim();
const authData = { baseUrl: `${STANDIN_URL}/`, apiKey: read('key'), webhookSecret: read('secret') };

const tester = createAppTester(app);
const perform = (operation, inputData, more) => tester(operation, { authData, inputData, ...more });
const { creates, searches, triggers } = app;
const send = (inputData) => perform(creates.send_bot.operation.perform, inputData);
const find = (externalId) => perform(searches.job.operation.perform, { externalId });
const transcript = (jobId) => perform(searches.transcript.operation.perform, { jobId });

/** Repeats until the function returns something. */
async function until(what, returned) {
  for (let tries = 0; tries < 100; tries++) {
    const result = await returned();
    if (result) return result;
    await sleep(200);
  }
  return assert.fail(`${what}: still waiting after 20 seconds`);
}

/** Returns the job when it has ended. */
const ended = (externalId) =>
  until(`the end of ${externalId}`, async () => {
    const [job] = await find(externalId);
    return ['completed', 'failed'].includes(job.status) && job;
  });

/** Matches an error with this name and message. The errors of Zapier have JSON in their messages, if they have a code. */
const refused = (name, message) => (error) => {
  assert.equal(error.name, name);
  assert.match(error.message.startsWith('{') ? JSON.parse(error.message).message : error.message, message);
  return true;
};

it('has a valid definition', () => {
  assert.deepEqual(
    validateAppDefinition(JSON.parse(JSON.stringify(app, (_, value) => (typeof value === 'function' ? '$func$2$f$' : value)))).errors,
    [],
  );
});

describe('authentication', () => {
  it('accepts a key', async () => {
    const me = await tester(app.authentication.test, { authData });
    assert.equal(me.consumer.name, 'zapier');
    assert.equal(await tester(app.authentication.connectionLabel, { authData, inputData: me }), 'zapier (test)');
  });

  it('refuses a wrong key', async () => {
    const wrong = tester(app.authentication.test, { authData: { ...authData, apiKey: 'wrong' } });
    await assert.rejects(wrong, refused('ExpiredAuthError', /^Missing or invalid API key\./));
  });
});

describe('a bot', () => {
  it('is sent, found and transcribed', async () => {
    const sent = await send({
      meetingUrl: 'https://meet.google.com/abc-defg-hij',
      externalId: 'standup 1',
      displayName: 'Notes for Zoë',
      captions: true,
      chat: true,
      transcript: true,
      moreOptions: '{"metadata": {"customer": "Zoë"}, "simulate": {"outcome": "success", "seconds": 3}}',
    });
    assert.equal(sent.externalId, 'standup 1');
    assert.deepEqual(sent.metadata, { customer: 'Zoë' });
    assert.equal((await send({ meetingUrl: 'https://meet.google.com/abc-defg-hij', externalId: 'standup 1' })).id, sent.id);

    const job = await ended('standup 1');
    assert.deepEqual([job.id, job.status], [sent.id, 'completed']);
    const [found] = await until('the transcript', () => transcript(job.id).catch(() => undefined));
    assert.equal(found.id, job.id);
    assert.match(found.transcript, /^\[00:00:\d\d\] .+: /);

    await assert.rejects(
      perform(creates.leave_meeting.operation.perform, { jobId: job.id }),
      refused('AppError', /^The job has ended: it is completed\.$/),
    );
  });

  it('is sent once without an External ID', async () => {
    const meetingUrl = 'https://meet.google.com/one-once-one';
    const input = { meetingUrl, joinAt: new Date(Date.now() + 3600e3).toISOString() };
    const job = await send(input);
    assert.match(job.externalId, /^zapier-/);
    assert.equal(job.joinAt, input.joinAt);
    assert.equal((await send(input)).id, job.id);
    assert.notEqual((await send({ ...input, joinAt: new Date(Date.now() + 7200e3).toISOString() })).id, job.id);
  });

  it('gets commands, once for each Run ID', async () => {
    const { id: jobId, externalId } = await send({
      meetingUrl: 'https://meet.google.com/com-mand-com',
      allowSpeaking: true,
      moreOptions: '{"simulate": {"outcome": "slow_meeting", "seconds": 600}}',
    });
    await until('the meeting', async () => (await find(externalId))[0].status === 'recording_started');
    const chat = (inputData) => perform(creates.send_chat_message.operation.perform, { jobId, ...inputData });
    const first = await chat({ text: 'Good morning', runId: 'dlv_1' });
    assert.equal(first.status, 'queued');
    assert.equal((await chat({ text: 'Good morning', runId: 'dlv_1' })).commandId, first.commandId);
    for (const other of [{ text: 'Good morning', runId: 'dlv_2' }, { text: 'Good evening', runId: 'dlv_1' }, { text: 'Good morning' }]) {
      assert.notEqual((await chat(other)).commandId, first.commandId);
    }
    assert.equal((await perform(creates.speak_text.operation.perform, { jobId, text: 'Good morning' })).status, 'queued');
    assert.equal((await perform(creates.leave_meeting.operation.perform, { jobId })).status, 'queued');
    assert.equal((await ended(externalId)).status, 'completed');
  });

  it('is refused with all issues', async () => {
    const wrong = send({ meetingUrl: 'nowhere', externalId: 'wrong', moreOptions: '{"autoLeave": {"afterSoloSeconds": 0}}' });
    await assert.rejects(wrong, refused('AppError', /There is 1 more issue\.\n(.*\n)*meetingUrl: must be .*URL/));
    for (const moreOptions of ['{', '[]']) {
      await assert.rejects(send({ meetingUrl: 'nowhere', moreOptions }), refused('AppError', /^More Options is not a JSON object\.$/));
    }
    await assert.rejects(transcript('a/b'), refused('AppError', /job/));
    assert.deepEqual(await find('no such job'), []);
  });
});

describe('a trigger', () => {
  const received = [];
  let receiver, targetUrl;
  before(async () => {
    receiver = createServer((request, response) => {
      const chunks = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        received.push({ headers: request.headers, content: Buffer.concat(chunks).toString() });
        response.writeHead(204).end();
      });
    });
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    targetUrl = `http://127.0.0.1:${receiver.address().port}/hooks`;
  });
  after(() => receiver.close());

  /** The headers of a request as Zapier names them. */
  const renamed = ({ headers, content }) => ({
    content,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [`Http-${name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())}`, value]),
    ),
  });

  it('starts the Zap with signed events until it is turned off', async () => {
    const inputs = { recording_ready: {}, transcript_ready: {}, event: { event: 'participant.joined' } };
    for (const [key, inputData] of Object.entries(inputs)) {
      received.length = 0;
      const { operation } = triggers[key];
      const subscribeData = await perform(operation.performSubscribe, inputData, { targetUrl });
      await send({ meetingUrl: `https://meet.google.com/${key}`, externalId: key, captions: true, transcript: true });
      const rawRequest = renamed(await until(`the event of ${key}`, () => received[0]));

      const hook = (change, more) => perform(operation.perform, inputData, { rawRequest: { ...rawRequest, ...change }, ...more });
      const [item] = await hook();
      assert.equal(item.id, item.deliveryId);
      assert.equal(item.data.externalId ?? item.data.job.externalId, key);
      const forged = refused('HaltedError', /^Invalid webhook signature\./);
      await assert.rejects(hook({ content: rawRequest.content.replace(key, 'forged') }), forged);
      await assert.rejects(hook({ headers: {} }), forged);
      assert.equal((await hook({ headers: {} }, { authData: { ...authData, webhookSecret: '' } })).length, 1);

      const [sample] = await perform(operation.performList, inputData);
      assert.equal(sample.event, item.event);
      assert.deepEqual(Object.keys(sample), Object.keys(item));
      assert.deepEqual(Object.keys(sample.data), Object.keys(item.data));

      const unsubscribe = () => perform(operation.performUnsubscribe, inputData, { subscribeData });
      await unsubscribe();
      await assert.rejects(unsubscribe(), refused('AppError', /^No such webhook endpoint\.$/));
    }
  });

  it('has a sample of each event', async () => {
    const { operation } = triggers.event;
    for (const event of Object.keys(operation.inputFields[0].choices)) {
      assert.equal((await perform(operation.performList, { event }))[0]?.event, event);
    }
  });

  it('verifies by the rules of Standard Webhooks', () => {
    // The example of standardwebhooks.com.
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
    const content = '{"test": 2432232314}';
    const request = (signature) => ({
      headers: {
        'Http-Webhook-Id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'Http-Webhook-Timestamp': '1614265330',
        'Http-Webhook-Signature': signature,
      },
      content,
    });
    const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
    const verify = (header, now) => verifySignature(secret, request(header), now);
    assert.equal(verify(signature, 1614265330), true);
    assert.equal(verify(`v1,b3RoZXI= ${signature}`, 1614265330), true);
    assert.equal(verify(signature.replace('v1', 'v2'), 1614265330), false);
    assert.equal(verify(signature, 1614265330 + 299), true);
    assert.equal(verify(signature, 1614265330 + 301), false);
    assert.equal(verify(signature, 1614265330 - 301), false);
  });
});

it('tells Zapier when to try again', async () => {
  const busy = createServer((request, response) => {
    response.writeHead(429, { 'Retry-After': '3', 'Content-Type': 'application/json' });
    response.end('{"error": "rate_limited", "message": "Too many requests. Try again in 3 seconds."}');
  });
  await new Promise((resolve) => busy.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${busy.address().port}`;
  await assert.rejects(tester(app.authentication.test, { authData: { ...authData, baseUrl } }), (error) => {
    assert.equal(error.name, 'ThrottledError');
    assert.deepEqual(JSON.parse(error.message), { message: 'Too many requests. Try again in 3 seconds.', delay: 3 });
    return true;
  });
  busy.close();
});
