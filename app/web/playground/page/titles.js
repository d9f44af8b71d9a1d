// Names the tab after what is shown.

/** Sets the title of the tab: what is shown, and where. */
export function entitle(shown) {
  document.title = `${shown} · Stepwell`;
}
