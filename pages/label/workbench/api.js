// Requests to the label API. All failures are an ApiError with a code; without a reply it is "offline".

import { t } from "./texts.js";

const REQUEST_TIMEOUT = 15_000; // milliseconds until a request counts as lost

export class ApiError extends Error {
  constructor(code, message, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export class Api {
  /** `query` is a URLSearchParams that names the queue. */
  constructor({ base, query, fetch = globalThis.fetch.bind(globalThis) }) {
    Object.assign(this, { base, query, fetch, csrf: "" });
  }

  async session() {
    const session = await this.#request("session", { method: "GET", headers: this.#token() });
    this.csrf = session.csrf;
    return session;
  }

  get(path, parameters = {}) {
    return this.#request(path, { method: "GET", headers: this.#token() }, parameters);
  }

  /** Send a body; an outdated token is renewed once. */
  async post(path, body, { keepalive = false } = {}) {
    const options = () => ({
      method: "POST",
      headers: { "Content-Type": "application/json", ...this.#token() },
      body: JSON.stringify(body),
      keepalive,
    });
    try {
      return await this.#request(path, options());
    } catch (error) {
      if (error.code !== "csrf") throw error;
      await this.session();
      return this.#request(path, options());
    }
  }

  /** The token of this window; without a role any more, it proves that the window was opened with one. */
  #token() {
    return this.csrf ? { "X-CSRF-Token": this.csrf } : {};
  }

  async #request(path, options, parameters = {}) {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(parameters)) query.set(name, value);
    let response;
    try {
      response = await this.fetch(`${this.base}/${path}?${query}`, {
        credentials: "same-origin",
        cache: "no-store",
        signal: AbortSignal.timeout(REQUEST_TIMEOUT),
        ...options,
      });
      if (response.ok) return await response.json();
    } catch {
      throw new ApiError("offline", t("The server does not respond."));
    }
    const body = await response.json().catch(() => ({}));
    throw new ApiError(
      body.error ?? "unavailable",
      body.message ?? t("The server responded with status {status}.", { status: response.status }),
      response.status,
    );
  }
}

/** The delay before the n-th retry: 0.25 s, doubled up to 5 s. */
export const backoff = (tries) => Math.min(250 * 2 ** tries, 5000);
