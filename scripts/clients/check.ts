// Functions of the TypeScript programs.
import {createHash} from "node:crypto";

export const url = process.env.STANDIN_URL!;
export const key = process.env.STANDIN_API_KEY!;
export const run = `run-${process.pid}-${Date.now()}`;
export const meetingUrl = "https://meet.google.com/abc-defg-hij";

let failed = false;

// check runs one part of a program and prints its result.
export async function check(name: string, part: () => Promise<void>) {
  try {
    await part();
    console.log(`${name}: ok`);
  } catch (error) {
    failed = true;
    console.log(`${name}: ${String(error).split("\n")[0]}`);
  }
}

export function done() {
  process.exit(failed ? 1 : 0);
}

export function equal(got: unknown, want: unknown) {
  if (got !== want) throw new Error(`got ${got}, want ${want}`);
}

export function sha256(bytes: ArrayBuffer) {
  return createHash("sha256").update(new Uint8Array(bytes)).digest("hex");
}

// readEvents yields the server-sent events of a response.
export async function* readEvents(response: Response) {
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream()) as unknown as AsyncIterable<string>) {
    text += chunk;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const fields = Object.fromEntries(text.slice(0, end).split("\n").map(line => line.split(/: ?(.*)/s, 2)));
      text = text.slice(end + 2);
      if (fields.data) yield {event: fields.event as string, data: fields.data as string};
    }
  }
}
