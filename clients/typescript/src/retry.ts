import { ApiError, ConnectionError, type StandinError, TimeoutError, errorOf } from './errors.js';

const firstPauseMs = 500;
const longestPauseMs = 8_000;
const longestRetryAfterMs = 60_000;

/** Returns a pause that doubles with each attempt. Half of it is random, so that many clients do not return at once. */
export function backoff(attempt: number): number {
  const pause = Math.min(firstPauseMs * 2 ** Math.min(attempt, 10), longestPauseMs);
  return pause / 2 + Math.random() * (pause / 2);
}

/** Waits. Rejects when the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', aborted, { once: true });
    if (signal?.aborted) aborted();
    function done() {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }
    function aborted() {
      clearTimeout(timer);
      reject(signal?.reason);
    }
  });
}

/**
 * Returns the pause before a request is sent again, or undefined if that does not help: after a 408, a 429, a status from 500 on
 * or without a response it does.
 */
function pauseBeforeRetry(error: StandinError, attempt: number): number | undefined {
  let pause = backoff(attempt);
  if (error instanceof ApiError) {
    if (error.status < 500 && error.status !== 408 && error.status !== 429) return undefined;
    if (error.status === 429 || error.status === 503) pause = error.retryAfterMs || pause;
  }
  return pause <= longestRetryAfterMs ? pause : undefined;
}

/**
 * Adds an Idempotency-Key to a POST, so that the service executes it once. Those that create jobs need none, because of the
 * externalId.
 */
function makeIdempotent(request: Request): void {
  if (request.method !== 'POST' || /\/api\/v1\/jobs(\/batch)?$/.test(new URL(request.url).pathname)) return;
  if (request.headers.has('idempotency-key')) return;
  const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID needs HTTPS
  request.headers.set('idempotency-key', Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(''));
}

/** How requests are sent. */
export interface Sending {
  fetch: typeof fetch;
  timeoutMs: number;
  maxRetries: number;
  logger: Logger | undefined;
}

/** Takes messages, for example `console`: each response for debugging, and warnings about requests that are repeated. */
export type Logger = Pick<Console, 'debug' | 'warn'>;

/**
 * Sends a request, and again if that may help. Returns a response with a status below 400, and its whole body unless it is a
 * stream.
 */
export async function send(how: Sending, request: Request, stream: boolean): Promise<Response> {
  makeIdempotent(request);
  for (let attempt = 0; ; attempt++) {
    const failure = await sendOnce(how, request, stream);
    if (failure instanceof Response) return failure;
    const pause = pauseBeforeRetry(failure, attempt);
    if (pause === undefined || attempt >= how.maxRetries) throw failure;
    how.logger?.warn(`standin: ${nameOf(request)} again in ${Math.round(pause)} ms: ${failure.message}`);
    await sleep(pause, request.signal);
  }
}

/** Returns the method and the path of a request. */
function nameOf(request: Request): string {
  return `${request.method} ${new URL(request.url).pathname}`;
}

async function sendOnce(how: Sending, request: Request, stream: boolean): Promise<Response | StandinError> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), how.timeoutMs);
  try {
    const signal = AbortSignal.any([request.signal, timeout.signal]);
    const fetching = how.fetch; // must not be called as a method
    const began = Date.now();
    const response = await fetching(request.clone(), { signal });
    how.logger?.debug(`standin: ${nameOf(request)}: ${response.status} after ${Date.now() - began} ms`);
    if (response.status >= 400) return await errorOf(response);
    if (stream || !response.body) return response;
    const body = await response.arrayBuffer();
    return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers });
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason;
    if (timeout.signal.aborted) return new TimeoutError(`the service did not respond within ${how.timeoutMs} ms`);
    return new ConnectionError('the service cannot be reached', { cause: error });
  } finally {
    clearTimeout(timer);
  }
}

/** Reads a stream chunk by chunk. A chunk that takes longer than the time is a TimeoutError. */
export async function* chunks(
  response: Response,
  silenceMs: number,
  signal?: AbortSignal | null,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (!response.body) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const silence = new AbortController();
      const late = sleep(silenceMs, AbortSignal.any(signal ? [silence.signal, signal] : [silence.signal])).then(() => {
        throw new TimeoutError(`no data within ${silenceMs} ms`);
      });
      try {
        const { done, value } = await Promise.race([reader.read(), late]);
        if (done) return;
        yield value;
      } finally {
        late.catch(() => undefined);
        silence.abort();
      }
    }
  } catch (error) {
    if (signal?.aborted) throw signal.reason;
    throw error instanceof ConnectionError ? error : new ConnectionError('the connection was lost', { cause: error });
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
