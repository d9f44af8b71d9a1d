// Leaves out of a folder what the service leaves out by its name: hidden, vendored and generated files.

import { ENDINGS, GENERATED, LOCKS, SYSTEM, VENDORED } from "../folder_names.js";

/** Whether a folder of this name need not be entered at all. */
export function isLeftOut(name) {
  return name.startsWith(".") || VENDORED.includes(name) || GENERATED.includes(name);
}

/** The files that are to be stored of those that are chosen or dropped; each has its relative path as its name. */
export function readable(files) {
  return files.filter(({ name }) => {
    const [file, ...folders] = name.split("/").reverse();
    if (SYSTEM.includes(file) || file.startsWith("._")) return false;
    return !folders.length || !(folders.slice(0, -1).some(isLeftOut) || isFileLeftOut(file));
  });
}

function isFileLeftOut(name) {
  return name.startsWith(".") || LOCKS.includes(name) || ENDINGS.some((ending) => name.toLowerCase().endsWith(ending));
}
