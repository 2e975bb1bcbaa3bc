/** What is used of node:crypto. */
interface Hash {
  update(content: Uint8Array): void;
  digest(encoding: 'hex'): string;
}

interface Runtime {
  process?: { getBuiltinModule?(name: string): { createHash(name: string): Hash } | undefined };
}

/** A SHA-256. It keeps the content in memory where only the Web Crypto API exists, which takes it as a whole. */
export class Sha256 {
  readonly #hash = (globalThis as Runtime).process?.getBuiltinModule?.('node:crypto')?.createHash('sha256');
  readonly #parts: Uint8Array<ArrayBuffer>[] = [];

  update(content: Uint8Array): void {
    if (this.#hash) this.#hash.update(content);
    else this.#parts.push(new Uint8Array(content));
  }

  async hex(): Promise<string> {
    if (this.#hash) return this.#hash.digest('hex');
    const digest = await crypto.subtle.digest('SHA-256', await new Blob(this.#parts).arrayBuffer());
    return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
  }
}
