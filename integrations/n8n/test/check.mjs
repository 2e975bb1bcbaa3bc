// Checks what n8n.sh has run: node check.mjs record|later FILE, or node check.mjs trigger, for which n8n runs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const { TMP, STANDIN_URL, N8N_URL } = process.env;
const read = (name) => readFileSync(`${TMP}/${name}`, 'utf8').trim();

/** Sends a request to the service. */
async function standin(method, path, body) {
	const headers = { Authorization: `Bearer ${read('key')}` };
	const response = await fetch(`${STANDIN_URL}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
	assert.ok(response.ok, `${method} ${path}: ${response.status}`);
	return response.status === 204 ? undefined : await response.json();
}

/** Repeats until the function returns something. */
async function until(what, returned) {
	for (let tries = 0; tries < 60; tries++) {
		const result = await returned();
		if (result) return result;
		await sleep(500);
	}
	assert.fail(`${what}: still waiting after 30 seconds`);
}

/** Returns the items of a node of an execution. */
function itemsOf(file) {
	const { data } = JSON.parse(readFileSync(file, 'utf8'));
	return (node) => data.resultData.runData[node].at(-1).data.main[0];
}

const checks = {
	record(file) {
		const items = itemsOf(file);
		const json = (node) => items(node)[0].json;
		assert.equal(json('Send').externalId, 'record');
		assert.deepEqual(json('Send').metadata, { customer: 'Zoë' });
		for (const command of ['Speak', 'Chat', 'Leave']) assert.equal(json(command).status, 'queued', command);
		assert.equal(json('Get').status, 'completed');
		assert.ok(json('Manifest').media.some((file) => file.name === 'recording.mp4'));
		assert.match(json('Transcript Text').transcript, /^\[00:00:\d\d\] .+: /);
		assert.match(json('Transcript WebVTT').transcript, /^WEBVTT/);
		assert.ok(json('Transcript JSON').segments.length > 0);
		const { video } = items('Download')[0].binary;
		assert.deepEqual([video.fileName, video.mimeType], ['recording.mp4', 'video/mp4']);
		assert.ok(video.bytes > 1000 && items('Download MP3')[0].binary.audio.bytes > 1000);
		const refused = (node) => items(node)[0].json.error ?? items(node)[0].error.message;
		assert.equal(refused('Refused File'), 'The recording has no such file.');
		assert.match(refused('Refused Job'), /job/);
		assert.match(refused('Refused Options'), /autoLeave.afterMaxSeconds/);
		assert.equal(refused('Refused JSON'), 'Metadata is not a JSON object.');
	},

	later(file) {
		const items = itemsOf(file);
		assert.deepEqual(items('Cancel').map((item) => item.json), [1, 2, 3].map(() => ({ success: true })));
		assert.equal(items('Local Time')[0].json.joinAt, '2099-07-01T08:00:00.000Z');
		const ids = (node) => items(node).map((item) => item.json.externalId); // n8n sends the requests of a node at the same time
		assert.deepEqual(ids('All').sort(), ['later-1', 'later-2', 'later-3']);
		assert.equal(ids('Two')[0], 'local');
		assert.equal(ids('Two').length, 2);
	},

	async trigger() {
		const endpoint = await until('the endpoint', async () => (await standin('GET', '/webhook-endpoints')).endpoints[0]);
		assert.deepEqual(endpoint.events, ['job.failed', 'job.finalized']);
		const received = async () => {
			const { jobs } = await standin('GET', '/jobs?limit=100');
			return jobs.filter((job) => job.externalId.startsWith('received-'));
		};

		const job = await standin('POST', '/jobs', {
			externalId: 'triggers',
			meetingUrl: 'https://meet.google.com/abc-defg-hij',
			transcript: { enabled: true },
			captions: { enabled: true },
		});
		const [first] = await until('the event', async () => ((await received()).length ? await received() : undefined));
		assert.equal(first.metadata.event, 'job.finalized');
		assert.match(first.metadata.transcript, /^\[00:00:\d\d\] .+: /);

		const forged = await fetch(endpoint.url, {
			method: 'POST',
			headers: {
				'Content-Type': 'application/json',
				'webhook-id': 'dlv_forged',
				'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
				'webhook-signature': 'v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=',
			},
			body: JSON.stringify({ deliveryId: 'dlv_forged', event: 'job.finalized', data: { jobId: job.id } }),
		});
		assert.equal(forged.status, 401);

		const { deliveries } = await standin('GET', `/jobs/${job.id}/deliveries`);
		const delivery = deliveries.find((candidate) => candidate.event === 'job.finalized');
		await standin('POST', `/deliveries/${delivery.deliveryId}/redeliver`);
		await until('the second delivery', async () => {
			const { state, tries } = await standin('GET', `/deliveries/${delivery.deliveryId}`);
			return state === 'delivered' && tries.length === 2;
		});
		await sleep(2000);
		assert.equal((await received()).length, 1);

		// The owner of n8n tests the credential, sees the tool, and deactivates the workflow.
		let cookie = '';
		const n8n = async (path, body) => {
			const headers = { 'Content-Type': 'application/json', Cookie: cookie };
			const response = await fetch(`${N8N_URL}/rest${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
			assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
			cookie ||= response.headers.getSetCookie().map((line) => line.split(';')[0]).join('; ');
			return (await response.json()).data;
		};
		await n8n('/owner/setup', { email: 'ada@example.com', firstName: 'Ada', lastName: 'L', password: read('password') });
		const test = async (data) => await n8n('/credentials/test', { credentials: { id: '', name: 'S', type: 'standinApi', data } });
		assert.equal((await test({ baseUrl: STANDIN_URL, apiKey: read('key') })).status, 'OK');
		assert.equal((await test({ baseUrl: STANDIN_URL, apiKey: 'sk_wrong' })).status, 'Error');
		const types = await (await fetch(`${N8N_URL}/types/nodes.json`, { headers: { Cookie: cookie } })).json();
		assert.ok(types.some((type) => type.name === 'n8n-nodes-standin.standinTool'), 'an agent can use the node');
		await n8n('/workflows/trigger/deactivate', {});
		const registered = async () => (await standin('GET', '/webhook-endpoints')).endpoints.some((left) => left.registered);
		await until('the end of the endpoint', async () => !(await registered()));
	},
};

await checks[process.argv[2]](process.argv[3]);
