// Reads and writes groups of synonyms as lines: `boiler, furnace`, or `vehicle => car, lorry`. A backslash makes the character after it plain.

/** The groups of a text, each with the number of its line, as the service reads those of a file. */
export function readGroups(text) {
  return text
    .split("\n")
    .map((line, index) => ({ line: index + 1, text: line.trim() }))
    .filter((one) => one.text && !one.text.startsWith("#"))
    .map((one) => ({ line: one.line, ...groupOf(one.text) }));
}

/** A group as a line. */
export function writeGroup({ terms, expand_to: others }) {
  const written = [terms, others].filter((side) => side?.length).map((side) => side.map((term) => term.replace(/[\\,]|=(?=>)|^#/g, "\\$&")).join(", "));
  return written.join(" => ");
}

function groupOf(line) {
  const sides = [[""]];
  for (const [, escaped, mark, plain] of line.matchAll(/\\(.)|(=>|,)|(.)/gs)) {
    if (mark === "=>") sides.push([""]);
    else if (mark) sides.at(-1).push("");
    else sides.at(-1)[sides.at(-1).length - 1] += escaped ?? plain;
  }
  const [terms, ...others] = sides.map((side) => side.map((term) => term.trim()).filter(Boolean));
  return { terms, expand_to: others.flat() };
}
