// A form for the title, the text, the URI and the metadata of a document, whose edits are kept until they are saved.

import { Problem, call } from "../page/api.js";
import { el } from "../page/dom.js";
import { editForm, forgetEdits, hasEdits } from "../page/edits.js";
import { readObject } from "../page/filters.js";
import { confirmed } from "../page/messages.js";

// Characters of a text that a field takes without stopping the page.
const LONGEST = 1_000_000;
const NEW = { title: "", content: "", uri: null, metadata: {}, source_id: null, updated_at: null };
const UNCHANGED = { job_id: null, warnings: [] };
const CHANGED = "The document was changed by someone else after you began: saving replaces the fields that you changed.";
const LONG = "The text is too long to be edited here.";
const OF_SOURCE = "A source has read this document from a file: the file replaces it when it changes.";

/** What the edits of a document are kept under; that of a new one has no id. */
export function editsOf(id = "") {
  return `document ${id}`;
}

/** A form for a stored document, or a new one; `saved` gets the result, and `closed` is called if it is cancelled. */
export function documentForm(found, { saved, closed }) {
  const old = found ?? NEW;
  const key = editsOf(old.document_id);
  let version = old.updated_at;
  const isLong = old.content.length > LONGEST;
  const content = el("textarea", { name: "content", rows: "18", dir: "auto", class: "prose", disabled: isLong }, isLong ? LONG : old.content);
  content.setSelectionRange(0, 0);
  const labels = {
    Title: el("input", { name: "title", maxlength: "500", dir: "auto", value: old.title, placeholder: "By default its first heading" }),
    "Text, plain or Markdown": content,
    "URI: a document with the same one is replaced": el("input", { name: "uri", maxlength: "2048", spellcheck: "false", value: old.uri, placeholder: "notes/lime.md" }),
    "Metadata as JSON, to filter by": el("textarea", { name: "metadata", rows: "5", spellcheck: "false", dir: "auto" }, JSON.stringify(old.metadata, null, 2)),
  };
  return editForm(key, labels, {
    version,
    noteOf: (began) => [old.source_id && OF_SOURCE, began !== old.updated_at && CHANGED],
    save: async (controls) => {
      const now = found && (await call("GET", `documents/${found.document_id}`)).updated_at;
      if (now === version) return save(found, controls);
      version = now; // saving again replaces it
      throw new Problem({ status: 409, title: "Not saved", detail: CHANGED });
    },
    done: saved,
    cancel: () => discard(key, closed),
  });
}

/** Closes a form; edits are discarded after a question. */
async function discard(key, closed) {
  const question = { title: "Discard your changes?", text: "What you typed is not saved.", action: "Discard" };
  if (hasEdits(key) && !(await confirmed(question))) return;
  forgetEdits(key);
  closed();
}

/** Stores what the controls hold, and returns the result. Throws Problem. */
function save(found, { title, content, uri, metadata }) {
  const given = {
    title: title.value.trim() || null,
    content: content.disabled ? undefined : content.value,
    uri: uri.value.trim() || null,
    metadata: readObject(metadata.value.trim() || "{}", "metadata", 'Must be a JSON object, such as {"team": "tide"}.'),
  };
  if (!found) return call("POST", "documents", { body: { ...given, title: given.title ?? undefined, uri: given.uri ?? undefined } });
  const body = changes(found, given);
  return Object.keys(body).length ? call("PATCH", `documents/${found.document_id}`, { body }) : UNCHANGED;
}

/** The fields that differ, metadata as a merge patch. */
function changes(found, { metadata, ...given }) {
  const changed = Object.entries(given).filter(([name, value]) => value !== undefined && value !== (found[name] || null) && (value || found[name]));
  const patch = mergePatch(found.metadata, metadata);
  return { ...Object.fromEntries(changed), ...(Object.keys(patch).length ? { metadata: patch } : {}) };
}

/** What turns one object into another (RFC 7396); a key that the new one lacks is null. */
function mergePatch(before, after) {
  const patch = Object.create(null);
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch[key] = null;
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    if (isObject(value) && isObject(old)) {
      const inner = mergePatch(old, value);
      if (Object.keys(inner).length) patch[key] = inner;
    } else if (JSON.stringify(value) !== JSON.stringify(old)) {
      patch[key] = value;
    }
  }
  return patch;
}

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
