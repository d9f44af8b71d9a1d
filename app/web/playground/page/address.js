// Reads and writes the fragment of the address: the view, and its parameters. Browsers send no fragment to a server.

/** The fragment of a view; parameters that are null, undefined or empty are left out. */
export function address(view, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `#${view}?${new URLSearchParams(given)}` : `#${view}`;
}

/** The view and the parameters of the address. */
export function current() {
  const [, view, parameters] = location.hash.match(/^#?([^?]*)\??(.*)$/s);
  return { view, parameters: new URLSearchParams(parameters) };
}

/** Changes the address without a step in the history. */
export function replaceAddress(view, parameters) {
  history.replaceState(null, "", address(view, parameters));
}

/** Sets the title of the tab: what is shown, and where. */
export function entitle(shown) {
  document.title = `${shown} · Stepwell`;
}
