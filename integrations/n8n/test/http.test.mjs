import assert from 'node:assert/strict';
import { test } from 'node:test';

import http from '../dist/nodes/Standin/http.js';

const total = 250;

/** Reads pages of a service with 250 jobs, and returns the IDs and the queries. */
async function read(parameters) {
	const queries = [];
	const context = {
		getNodeParameter: (name) => parameters[name],
		async makeRoutingRequest({ options: { qs } }) {
			queries.push({ ...qs });
			const start = Number(qs.cursor ?? 0);
			const end = Math.min(start + qs.limit, total);
			const jobs = Array.from({ length: end - start }, (_, at) => ({ id: start + at }));
			return [{ json: { jobs, nextCursor: end < total ? String(end) : null } }];
		},
	};
	const items = await http.readPages.call(context, { options: { qs: { status: 'failed' } } });
	return { ids: items.map((item) => item.json.id), queries };
}

test('all pages', async () => {
	const { ids, queries } = await read({ returnAll: true });
	assert.deepEqual(ids, Array.from({ length: total }, (_, id) => id));
	assert.deepEqual(queries, [undefined, '100', '200'].map((cursor) => ({ status: 'failed', limit: 100, cursor })));
});

test('up to a limit', async () => {
	const { ids, queries } = await read({ returnAll: false, limit: 120 });
	assert.equal(ids.length, 120);
	assert.deepEqual(queries.map((query) => query.limit), [100, 20]);
});

test('an error shows the message of the service and its issues', () => {
	const issues = [{ path: ['autoLeave', 'afterMaxSeconds'], message: 'must be at most 86400' }];
	const error = http.apiError({ name: 'Standin', type: 'standin' }, 400, { error: 'invalid_input', message: 'Invalid.', issues });
	assert.equal(error.message, 'Invalid.');
	assert.equal(error.description, 'autoLeave.afterMaxSeconds: must be at most 86400');
	assert.equal(error.httpCode, '400');
	assert.equal(http.apiError({ name: 'Standin', type: 'standin' }, 502, '<html>').message, 'The service responded with status 502.');
});
