// An answer of the HTTP server instead of one of the RPC.

export class HttpFailure extends Error {
  constructor(status, headers = {}) {
    super(`HTTP ${status}`);
    this.status = status;
    this.headers = headers;
  }
}
