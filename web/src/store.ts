// What is looked at, kept in the address: every view is a link.
import { useEffect, useState } from 'preact/hooks';

export interface View {
  op: number; // 0: the first bad one
  slot: number; // 0: the one that represents the operator
  text: string;
  verdict: string;
  phase: string;
  type: string;
  module: string;
  step: string;
  rank: string;
  sort: string; // a column, "-" in front: descending
  tolerance: number; // the power of ten that the tolerances are multiplied with
  plane: string; // of the tensor: the indices before its last two dimensions, "57,30"
  place: string; // row, column, rows and columns of what is looked at closer
  side: string; // whose elements
}

const initial: View = { op: 0, slot: 0, text: '', verdict: '', phase: '', type: '', module: '', step: '', rank: '', sort: '', tolerance: 0, plane: '', place: '', side: '' };

function parse(): View {
  const given = new URLSearchParams(location.hash.slice(1));
  const view: View = { ...initial };
  for (const key of Object.keys(initial) as (keyof View)[]) {
    const value = given.get(key);
    if (value === null) continue;
    if (typeof initial[key] === 'number') Object.assign(view, { [key]: Number(value) || 0 });
    else Object.assign(view, { [key]: value });
  }
  return view;
}

let current = parse();
const listeners = new Set<() => void>();

function show(view: View) {
  current = view;
  for (const listener of listeners) listener();
}

export function setView(change: Partial<View>) {
  // Another tensor is looked at as a whole.
  const other = change.op !== undefined || change.slot !== undefined ? { plane: '', place: '' } : {};
  const view = { ...current, ...other, ...change };
  const address = new URLSearchParams();
  for (const key of Object.keys(initial) as (keyof View)[])
    if (view[key] !== initial[key]) address.set(key, String(view[key]));
  history.replaceState(null, '', `#${address.toString()}`);
  show(view);
}

addEventListener('hashchange', () => show(parse()));

// These parts of the view. What uses them is drawn again when one of them changes, and only then.
export function useView<Key extends keyof View>(...keys: Key[]): Pick<View, Key> {
  const [view, setState] = useState(current);
  useEffect(() => {
    const listener = () => setState((was) => (keys.every((key) => was[key] === current[key]) ? was : current));
    listener();
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return view;
}
