/** Numbers, sizes and times for people. Times are UTC, as in file names and schedules. */

const NUMBER = new Intl.NumberFormat('en-US');
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** `1,234,567` @param {number} value */
export function number(value) {
  return NUMBER.format(value);
}

/** `1.2M` @param {number} value */
export function compact(value) {
  return COMPACT.format(value);
}

/** `1.5 MB` @param {number} value */
export function bytes(value) {
  let unit = 0;
  let left = value;
  while (left >= 999.5 && unit < UNITS.length - 1) {
    left /= 1000;
    unit += 1;
  }
  return `${unit === 0 || left >= 99.95 ? Math.round(left) : left.toFixed(1)} ${UNITS[unit]}`;
}

/** `45 s`, `5 min`, `3 h 12 min`, `4 d` @param {number} seconds */
export function duration(seconds) {
  if (seconds < 1) return 'under 1 s';
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.round(hours / 24)} d`;
}

/** `5 min ago`, `in 3 h`. @param {number | string} moment @param {number} now milliseconds */
export function relative(moment, now) {
  const seconds = (Number(new Date(moment)) - now) / 1000;
  if (Math.abs(seconds) < 1) return 'now';
  return seconds < 0 ? `${duration(-seconds)} ago` : `in ${duration(seconds)}`;
}

/** `2026-01-31 10:20 UTC` @param {number | string} moment */
export function moment(moment) {
  return `${new Date(moment).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
