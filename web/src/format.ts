// Numbers and names for people.

export function short(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e6) return String(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2).replace('e+', 'e') : Number(value.toPrecision(4)).toString();
}

// All digits of a tolerance: 1.3e-6.
export const tiny = (value: number): string => (value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value));

// "—" where nothing was measured.
export const known = (value: number): string => (Number.isNaN(value) ? '—' : short(value));

// All digits that distinguish it.
export const exact = (value: number): string => (Number.isFinite(value) ? String(Math.fround(value) === value ? Number(value.toPrecision(9)) : value) : short(value));

// 1 − cosine says more than a cosine near 1; a 1 beside elements that differ says nothing.
export const cosine = (value: number, mismatch: number): string =>
  Number.isNaN(value) || (value === 1 && mismatch > 0) ? '—' : value > 0.999 && value < 1 ? `1 − ${(1 - value).toExponential(1)}` : Number(value.toPrecision(6)).toString();

export const count = (value: number): string => (Number.isFinite(value) ? value.toLocaleString('en') : '—');

export function plural(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

export function percent(part: number, whole: number): string {
  if (!(whole > 0)) return '';
  const share = (100 * part) / whole;
  return part === whole ? '100 %' : part > 0 && share < 0.1 ? '< 0.1 %' : share > 99.9 ? '> 99.9 %' : `${share.toFixed(1)} %`;
}

// The module and the operator of a name, without the prefix that all names have.
export function nameParts(name: string): [string, string] {
  const at = name.lastIndexOf('/');
  return at < 0 ? ['', name] : [name.slice(0, at + 1), name.slice(at + 1)];
}

// Shortened in the middle, where names of modules resemble each other.
export function middle(text: string, most: number): string {
  if (text.length <= most) return text;
  const tail = Math.ceil(most * 0.6);
  return `${text.slice(0, most - tail - 1)}…${text.slice(-tail)}`;
}

export const pythonText = (text: string): string => JSON.stringify(text);
// For a shell: nothing within single quotes means anything.
export const shellText = (text: string): string => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
