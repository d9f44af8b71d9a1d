// Takes dropped and pasted files and folders, and keeps the browser from opening files that miss the zone.

import { isLeftOut } from "./folders.js";

/** Calls `take` with the files that are dropped into a zone, and `missed` for a drop outside of it. */
export function acceptDrops(zone, take, missed) {
  for (const kind of ["dragenter", "dragover"]) {
    document.addEventListener(kind, (event) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      zone.classList.toggle("over", zone.contains(event.target));
    });
  }
  document.addEventListener("dragleave", (event) => event.relatedTarget ?? zone.classList.remove("over"));
  document.addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    zone.classList.remove("over");
    if (zone.contains(event.target)) take(await droppedFiles(event.dataTransfer));
    else missed();
  });
}

/** Calls `take` with files that are pasted while a view is shown, and `read` with a text that is pasted beside its fields. */
export function acceptPastes(view, take, read) {
  document.addEventListener("paste", (event) => {
    if (view.hidden || event.target.matches("input, textarea")) return;
    const files = [...event.clipboardData.files].map((file) => ({ file, name: file.name }));
    const text = event.clipboardData.getData("text/plain");
    if (files.length) take(files);
    else if (text.trim()) read(text);
  });
}

function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files");
}

/** The dropped files and those in dropped folders, in the order of their paths. */
async function droppedFiles(transfer) {
  // Both lists are emptied when the event is over.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const files = [...transfer.files].map((file) => ({ file, name: file.name }));
  return entries.length ? (await Promise.all(entries.map(filesOf))).flat() : files;
}

/** The files of a dropped file or folder, with their relative paths. */
async function filesOf(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, name: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return found;
    for (const inner of some) if (inner.isFile || !isLeftOut(inner.name)) found.push(...(await filesOf(inner)));
  }
}
