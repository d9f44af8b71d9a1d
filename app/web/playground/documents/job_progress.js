// Says how far the job is that stores a large document.

/** How far a job is, in words; empty before it has begun. */
export function progressText({ progress }) {
  const { done, total, unit, step } = progress;
  if (done == null) return "";
  const what = step ? `${step}: ` : "";
  return `${what}${number(done)}${total ? ` of ${number(total)}` : ""} ${unit ?? ""}`.trim();
}

function number(value) {
  return value.toLocaleString("en");
}
