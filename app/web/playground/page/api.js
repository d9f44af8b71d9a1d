// Calls the API of the service that served this page. The key is a variable of this module: it is stored nowhere.

const BASE = new URL("api/rag/", document.baseURI);
const SILENT = "The service did not answer. Is it still running?";
let key = "";

/** A failed call: the problem+json of the service, why there was no response, or a field that cannot be sent. */
export class Problem extends Error {
  constructor({ status = 0, code = "", title = "", detail = "", errors = [] }) {
    super(detail || title);
    Object.assign(this, { status, code, title, detail, errors });
  }

  /** The problem of a field that cannot be sent. */
  static of(field, message) {
    return new Problem({ status: 422, errors: [{ field, message }] });
  }
}

export const origin = new URL(".", document.baseURI).href.replace(/\/$/, "");

export function setKey(value) {
  key = value.trim();
}

export function hasKey() {
  return key !== "";
}

/** The JSON of a response. Throws Problem; an aborted call throws AbortError. */
export async function call(method, path, { body, signal } = {}) {
  const headers = { ...credentials(), ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
  const options = { method, signal, headers, credentials: "omit", cache: "no-store", body: JSON.stringify(body) };
  let response;
  let text;
  try {
    response = await fetch(new URL(path, BASE), options);
    text = await response.text();
  } catch (error) {
    throw error.name === "AbortError" ? error : unreachable(SILENT);
  }
  return answerOf(response.status, response.statusText, text);
}

/** Sends a file; `progress` gets the share that is sent. Resolves to the JSON of the response. Throws Problem. */
export function upload(file, name, progress) {
  const form = new FormData();
  form.append("files", file, name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", new URL("documents/upload", BASE));
    for (const [field, value] of Object.entries(credentials())) request.setRequestHeader(field, value);
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onerror = () => reject(unreachable(SILENT));
    request.onload = () => resolve(request);
    request.send(form);
  }).then(({ status, statusText, responseText }) => answerOf(status, statusText, responseText));
}

/** The JSON of a response. Throws Problem, also where a proxy returned a page of its own. */
function answerOf(status, title, text) {
  const answer = parsed(text);
  if (status >= 400) throw new Problem({ status, title, ...answer });
  if (!answer) throw unreachable("What came is not from the service. Does a proxy want you to sign in?");
  return answer;
}

function credentials() {
  if (!key) return {};
  if (!/^[\x21-\x7e]+$/.test(key)) throw new Problem({ status: 401, detail: "The key holds characters that no key has." });
  return { Authorization: `Bearer ${key}` };
}

function unreachable(detail) {
  return new Problem({ title: "No response", detail });
}

/** The value that a text has as JSON, or null. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
