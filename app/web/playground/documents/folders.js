// Leaves out of a folder what the service leaves out by its name: hidden, vendored and generated files.

import { ENDINGS, GENERATED, GENERATED_BESIDE, LOCKS, MARKERS, SYSTEM, VENDORED, VENDORED_WITH } from "../folder_names.js";

/** Whether a folder of this name need not be entered at all. */
export function isLeftOut(name) {
  return name.startsWith(".") || VENDORED.includes(name) || GENERATED.includes(name);
}

/** The files of chosen or dropped folders that are to be stored; each has its relative path as its name. */
export function readable(files) {
  const paths = new Set(files.flatMap(({ name }) => prefixes(name)));
  const verdicts = new Map();
  const isOut = (folder) => {
    if (!verdicts.has(folder)) verdicts.set(folder, isFolderOut(folder, paths));
    return verdicts.get(folder);
  };
  return files.filter(({ name }) => {
    const [first, ...inner] = prefixes(name).slice(0, -1);
    if (isOfSystem(lastOf(name))) return false;
    return first === undefined || !(inner.some(isOut) || isFileOut(lastOf(name)));
  });
}

function isFolderOut(path, paths) {
  const name = lastOf(path);
  const beside = (other) => paths.has(path.slice(0, -name.length) + other);
  const inside = (other) => paths.has(`${path}/${other}`);
  if (isLeftOut(name) || ENDINGS.some((ending) => name.endsWith(ending))) return true;
  return (VENDORED_WITH[name] ?? []).some(inside) || (GENERATED_BESIDE[name] ?? []).some(beside) || MARKERS.some(inside);
}

/** Whether a desktop has written the file beside those of its user: left out also if it is dropped alone. */
function isOfSystem(name) {
  return SYSTEM.includes(name) || name.startsWith("._");
}

function isFileOut(name) {
  return name.startsWith(".") || LOCKS.includes(name) || ENDINGS.some((ending) => name.toLowerCase().endsWith(ending));
}

/** The paths of a file and of the folders above it, outermost first. */
function prefixes(path) {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function lastOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}
