// Makes JSON merge patches (RFC 7396).

/** What turns one object into another; a key that the new one lacks is null. */
export function mergePatch(before, after) {
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
