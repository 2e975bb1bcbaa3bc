/** A page of a list. */
export interface Page<T> {
  items: T[];
  /** The `cursor` of the next page, or null after the last one. */
  nextCursor: string | null;
}

/** Which page of a list to begin with. */
export interface PageOptions {
  /** `nextCursor` of another page. By default, the first page. */
  cursor?: string;
  /** The items of a page, at most 100. Default: 100. */
  limit?: number;
}

/** A list of the service. Iterate over all its items, over pages, or take one page. */
export class Pages<T> implements AsyncIterable<T> {
  readonly #fetch: (query: { limit: number; cursor?: string }) => Promise<Page<T>>;
  readonly #options: PageOptions;

  constructor(fetchPage: (query: { limit: number; cursor?: string }) => Promise<Page<T>>, options: PageOptions) {
    this.#fetch = fetchPage;
    this.#options = options;
  }

  /** Returns the page at the cursor, by default the first one. */
  page(): Promise<Page<T>> {
    return this.#at(this.#options.cursor);
  }

  /** Iterates over the pages from the cursor on. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    let page = await this.page();
    yield page;
    while (page.nextCursor !== null) {
      page = await this.#at(page.nextCursor);
      yield page;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }

  #at(cursor: string | undefined): Promise<Page<T>> {
    return this.#fetch({ limit: this.#options.limit ?? 100, ...(cursor && { cursor }) });
  }
}
