// Says in words how fast documents are stored, what takes most of the time, and how long it will take.

/** Documents and chunks per second. */
export function inRates({ documents, chunks, seconds }) {
  if (!seconds) return "";
  const rate = (number) => (number / seconds).toLocaleString("en", { maximumFractionDigits: number / seconds < 10 ? 1 : 0 });
  return `${rate(documents)} documents and ${rate(chunks)} chunks per second`;
}

/** The stage that was busy for most of the time, with its share of it; nothing if none was measured. */
export function busiest(stages, seconds) {
  const [[stage, busy] = []] = Object.entries(stages).sort(([, one], [, other]) => other - one);
  return stage && seconds ? `mostly ${stage} (${Math.min(100, Math.round((100 * busy) / seconds))}%)` : "";
}

/** The time left, if the rest takes as long as what is done. */
export function timeLeft(done, total, seconds) {
  if (!done || !seconds || done >= total) return "";
  const left = Math.ceil(((total - done) * seconds) / done);
  return `about ${left < 90 ? `${left} s` : left < 5400 ? `${Math.round(left / 60)} minutes` : `${Math.round(left / 3600)} hours`} left`;
}
