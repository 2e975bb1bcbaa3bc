import { UnexpectedResponseError } from './errors.js';
import type {
  LiveCommand,
  LiveEnd,
  LiveOutput,
  LiveParticipants,
  LiveSpeaking,
  LiveState,
  LiveStream,
  LiveText,
  LiveTranscript,
} from './generated/index.js';

/** An event of a live stream. Texts are plain text from the meeting: escape them before showing them. */
export type LiveEvent = {
  /** To continue after this event with `lastEventId`. Undefined for events without one. */
  id: string | undefined;
} & (
  | { event: 'state'; data: LiveState }
  | { event: 'command'; data: LiveCommand }
  | { event: 'stream'; data: LiveStream }
  | { event: 'output'; data: LiveOutput }
  | { event: 'participants'; data: LiveParticipants }
  | { event: 'speaking'; data: LiveSpeaking }
  | { event: 'caption' | 'chat'; data: LiveText }
  | { event: 'transcript'; data: LiveTranscript }
  | { event: 'end'; data: LiveEnd }
);

/** Parses a stream of server-sent events. */
export async function* events(stream: AsyncIterable<Uint8Array>): AsyncGenerator<LiveEvent, void, undefined> {
  const decoder = new TextDecoder();
  let buffer = '';
  let fields: Record<string, string> = {};
  for await (const chunk of stream) {
    const lines = (buffer + decoder.decode(chunk, { stream: true })).split('\n');
    buffer = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        const { event, data, id } = fields;
        fields = {};
        // Names that this version does not know are passed on.
        if (event && data) yield { id, event, data: parsed(data) } as LiveEvent;
        continue;
      }
      const colon = line.indexOf(':');
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, '');
    }
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (error) {
    throw new UnexpectedResponseError('the service sent an event that is not JSON', { cause: error });
  }
}
