// Takes files that are chosen, dropped and pasted, without those of a folder that the service leaves out by their names.

import { byId } from "../page/dom.js";
import { ENDINGS, GENERATED, LOCKS, SYSTEM, VENDORED } from "../tables.js";

/** Calls `take` with chosen, dropped and pasted files, `missed` for a drop outside of the frame, `read` with a pasted text. */
export function onFiles({ take, missed, read }) {
  for (const id of ["files", "folder"]) takeChosen(byId(id), take);
  takeDropped(byId("drop"), take, missed);
  document.addEventListener("paste", (event) => {
    if (byId("view-documents").hidden || event.target.matches("input, textarea")) return;
    const files = filesIn(event.clipboardData);
    const text = event.clipboardData.getData("text/plain");
    // Word and Excel add a picture of a copied text, file managers the names of copied files.
    if (text.trim() && (!files.length || event.clipboardData.types.includes("text/html"))) read(text);
    else take(files);
  });
}

/** The files that are to be stored of those that are chosen or dropped; each has its relative path as its name. */
export function readable(files) {
  return files.filter(({ name }) => {
    const [file, ...folders] = name.split("/").reverse();
    if (SYSTEM.includes(file) || file.startsWith("._")) return false;
    const isLeftOut = file.startsWith(".") || LOCKS.includes(file) || ENDINGS.some((ending) => file.toLowerCase().endsWith(ending));
    return !folders.length || !(folders.slice(0, -1).some(isFolderLeftOut) || isLeftOut);
  });
}

function isFolderLeftOut(name) {
  return name.startsWith(".") || VENDORED.includes(name) || GENERATED.includes(name);
}

/** The files of an input or a transfer; those of a chosen folder with their relative paths. */
function filesIn({ files }) {
  return [...files].map((file) => ({ file, name: file.webkitRelativePath || file.name }));
}

function takeChosen(input, take) {
  input.addEventListener("change", () => {
    const files = filesIn(input);
    input.value = "";
    take(files);
  });
}

/** Takes what is dropped into a zone, and keeps the browser from opening files that miss it. */
function takeDropped(zone, take, missed) {
  const on = (kind, use) =>
    document.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      zone.classList.toggle("over", kind !== "drop" && zone.contains(event.target));
      use?.(event);
    });
  on("dragenter");
  on("dragover");
  on("drop", async (event) => {
    if (zone.contains(event.target)) take(await droppedFiles(event.dataTransfer));
    else missed();
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget ?? zone.classList.remove("over"));
}

/** The dropped files and those in dropped folders, in the order of their paths. */
async function droppedFiles(transfer) {
  // Both lists are emptied when the event is over.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = filesIn(transfer);
  return entries.length ? (await Promise.all(entries.map(filesOf))).flat() : files;
}

/** The files of a dropped file or folder, with their relative paths; what cannot be read is `null`. */
async function filesOf(entry) {
  const name = entry.fullPath.replace(/^\//, "");
  const found = [];
  try {
    if (entry.isFile) return [{ file: await new Promise((resolve, reject) => entry.file(resolve, reject)), name }];
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (!some.length) return found;
      for (const inner of some) if (inner.isFile || !isFolderLeftOut(inner.name)) found.push(...(await filesOf(inner)));
    }
  } catch {
    return [...found, { file: null, name }];
  }
}
