// The statistics of `summary.py` for bundles: shares and differences with Student's t over groups.

const RIGHT = "r";
const UNASKED = "-";
const BINS = 24;

// Sums of values and sizes by group of items; groups are numbered from 0, so arrays suffice.
function summed(sheet, rows, value, size) {
  sheet.groupCount ??= sheet.groups.reduce((most, one) => Math.max(most, one), -1) + 1;
  const [values, sizes] = [new Float64Array(sheet.groupCount), new Float64Array(sheet.groupCount)];
  const seen = new Uint8Array(sheet.groupCount);
  for (const row of rows) {
    const group = sheet.groups[row];
    values[group] += value(row);
    sizes[group] += size(row);
    seen[group] = 1;
  }
  const found = [];
  for (let group = 0; group < sheet.groupCount; group += 1) if (seen[group]) found.push([values[group], sizes[group]]);
  return found;
}

// The mean value of the units of some items, with its interval on the logit scale.
export function shareOf(sheet, rows, run) {
  const asked = rows.filter((row) => sheet.units[run][row] > 0);
  const groups = summed(sheet, asked, (row) => sheet.value[run][row], (row) => sheet.units[run][row]);
  const total = groups.reduce((sum, one) => sum + one[0], 0);
  const size = groups.reduce((sum, one) => sum + one[1], 0);
  if (!size) return { value: null, units: 0 };
  const mean = total / size;
  if (sheet.about.form === "captions") { // a mean of scores, not a share
    const [low, high] = scaledInterval(sheet, groups, mean, size);
    return { value: mean, low: Math.max(0, low), high, units: size };
  }
  const [low, high] = shareInterval(groups, mean, size);
  return { value: mean, low, high, units: size };
}

function shareInterval(groups, mean, size) {
  const k = groups.length;
  if (mean === 0 || mean === 1 || k < 2) {
    return wilson(mean, size ** 2 / groups.reduce((sum, one) => sum + one[1] ** 2, 0));
  }
  const spread = groups.reduce((sum, [value, units]) => sum + ((value - mean * units) / size) ** 2, 0);
  // Few groups may be alike by accident: the error is at least that of independent units.
  const variance = Math.max((k / (k - 1)) * spread, (mean - mean ** 2) / size);
  const step = (studentQuantile(k - 1) * Math.sqrt(variance)) / (mean * (1 - mean));
  const logit = Math.log(mean / (1 - mean));
  const back = (x) => 1 / (1 + Math.exp(-x));
  return [back(logit - step), back(logit + step)];
}

function wilson(share, n) {
  const z = 1.959963984540054;
  const centre = (share + (z * z) / (2 * n)) / (1 + (z * z) / n);
  const half = (z / (1 + (z * z) / n)) * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  return [share === 0 ? 0 : Math.max(0, centre - half), share === 1 ? 1 : Math.min(1, centre + half)];
}

// The quantile at 0.975 of Student's t (Hill 1970, algorithm 396).
export function studentQuantile(n) {
  const p = 0.05;
  if (n === 1) return 1 / Math.tan((p * Math.PI) / 2);
  if (n === 2) return Math.sqrt(2 / (p * (2 - p)) - 2);
  const a = 1 / (n - 0.5);
  const b = 48 / (a * a);
  let c = (((20700 * a) / b - 98) * a - 16) * a + 96.36;
  const d = ((94.5 / (b + c) - 3) / b + 1) * Math.sqrt((a * Math.PI) / 2) * n;
  let y = (d * p) ** (2 / n);
  if (y > 0.05 + a) {
    const x = -1.959963984540054;
    y = x * x;
    if (n < 5) c += 0.3 * (n - 4.5) * (x + 0.6);
    c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b;
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x;
    y = a * y * y;
    y = Math.expm1(y);
  } else {
    y = ((1 / (((n + 6) / (n * y) - 0.089 * d - 0.822) * (n + 2) * 3) + 0.5 / (n + 4)) * y - 1) * ((n + 1) / (n + 2)) + 1 / y;
  }
  return Math.sqrt(n * y);
}

export function pairedOf(sheet, every, a, b) {
  const captions = sheet.about.form === "captions";
  const rows = captions ? every : every.filter((row) => sheet.ranks[a][row] !== UNASKED && sheet.ranks[b][row] !== UNASKED);
  const counted = { n: rows.length, ...(captions ? higherOf(sheet, rows, a, b) : crossedOf(sheet, rows, a, b)) };
  if (!rows.length) return { ...counted, difference: null };
  const groups = summed(sheet, rows, (row) => sheet.value[a][row] - sheet.value[b][row], (row) => sheet.units[a][row]);
  const size = groups.reduce((sum, one) => sum + one[1], 0);
  const difference = groups.reduce((sum, one) => sum + one[0], 0) / size;
  const [low, high] = scaledInterval(sheet, groups, difference, size);
  return { ...counted, difference, low, high, groups: groups.length, first: shareOf(sheet, rows, a), second: shareOf(sheet, rows, b) };
}

// An interval that stays within what units can be worth, which for captions is more than 1.
function scaledInterval(sheet, groups, value, size) {
  const { top } = sheet.about;
  return differenceInterval(groups.map(([sum, units]) => [sum / top, units]), value / top, size).map((end) => top * end);
}

function crossedOf(sheet, rows, a, b) {
  const counted = { both: 0, only_a: 0, only_b: 0, neither: 0 };
  for (const row of rows) {
    const [one, other] = [sheet.ranks[a][row] === RIGHT, sheet.ranks[b][row] === RIGHT];
    counted[one ? (other ? "both" : "only_a") : other ? "only_b" : "neither"] += 1;
  }
  return counted;
}

function higherOf(sheet, rows, a, b) {
  const counted = { higher: 0, lower: 0, level: 0 };
  for (const row of rows) {
    const gap = sheet.margins[a][row] - sheet.margins[b][row];
    counted[gap > 0 ? "higher" : gap < 0 ? "lower" : "level"] += 1;
  }
  return counted;
}

function differenceInterval(groups, difference, size) {
  const k = groups.length;
  const spread = groups.reduce((sum, [value, units]) => sum + ((value - difference * units) / size) ** 2, 0);
  const error = k > 1 ? Math.sqrt((k / (k - 1)) * spread) : 0;
  if (error < 1e-12) {
    const [share] = wilson(1, k);
    return [Math.max(-1, share * difference - (1 - share)), Math.min(1, share * difference + (1 - share))];
  }
  const half = studentQuantile(k - 1) * error;
  return [Math.max(-1, difference - half), Math.min(1, difference + half)];
}

export function histogramOf(margins, rows) {
  const known = rows.map((row) => margins[row]).filter((value) => !Number.isNaN(value));
  if (!known.length) return null;
  const values = known.filter((value) => value !== 0).sort((one, other) => one - other);
  const ties = known.length - values.length;
  if (!values.length) return { low: -1, step: 1, counts: [0, 0], zero: 1, ties };
  const quantile = (share) => {
    const at = share * (values.length - 1);
    const below = Math.floor(at);
    return values[below] + (at - below) * ((values[below + 1] ?? values[below]) - values[below]);
  };
  const [low, high] = [Math.min(quantile(0.005), 0), Math.max(quantile(0.995), 0)];
  const step = (high - low) / BINS;
  const [left, right] = [Math.ceil(-low / step - 1e-9), Math.ceil(high / step - 1e-9)];
  const counts = new Array(left + right).fill(0);
  for (const value of values) counts[Math.min(counts.length - 1, Math.max(0, Math.floor(value / step) + left))] += 1;
  return { low: -left * step, step, counts, zero: left, ties };
}

export function agreementOf(sheet, rows) {
  return sheet.ranks.map((one) => sheet.ranks.map((other) => {
    let [n, same, first, second] = [0, 0, 0, 0];
    for (const row of rows) {
      if (one[row] === UNASKED || other[row] === UNASKED) continue;
      const [a, b] = [one[row] === RIGHT, other[row] === RIGHT];
      n += 1; same += a === b; first += a; second += b;
    }
    if (!n) return { n: 0, share: null, kappa: null };
    const expected = (first / n) * (second / n) + (1 - first / n) * (1 - second / n);
    return { n, share: same / n, kappa: expected === 1 ? null : (same / n - expected) / (1 - expected) };
  }));
}
