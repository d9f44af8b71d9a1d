// Reads and writes the fragment of the address: the view, and its parameters. Browsers send no fragment to a server.

/** A path with parameters; those that are null, undefined or empty are left out, and objects are written as JSON. */
export function withParameters(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const written = given.map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : value]);
  return written.length ? `${path}?${new URLSearchParams(written)}` : path;
}

/** The fragment of a view. */
export function address(view, parameters) {
  return withParameters(`#${view}`, parameters);
}

/** The view and the parameters of the address. */
export function current() {
  const [, view, parameters] = location.hash.match(/^#?([^?]*)\??(.*)$/s);
  return { view, parameters: new URLSearchParams(parameters) };
}

/** Sets the title of the tab: what is shown, and where. */
export function entitle(shown) {
  document.title = `${shown} · Stepwell`;
}
