// Verdicts: as they were given, or again under wider or narrower tolerances.
import type { Operator, Result, Slot } from './data';

export const worstOf = (slots: Slot[]): number => {
  let worst = NaN;
  for (const slot of slots) if (!(slot.scaled <= worst) && !Number.isNaN(slot.scaled)) worst = slot.scaled;
  return worst;
};

// Whether NaN or infinity stands against something else.
export const hasNan = (op: Pick<Operator, 'slots'>): boolean => op.slots.some((slot) => slot.nanMismatch > 0);

// The worst error of an operator divided by the tolerance: of its outputs, else of its inputs. Integers that
// differ have no such number (their tolerance is nothing) and count only if there is no other.
export function errorOf(op: Operator): number {
  for (const slots of [op.slots.filter((slot) => slot.side === 'output'), op.slots]) {
    const nan = slots.some((slot) => slot.nanMismatch > 0);
    const real = worstOf(slots.filter((slot) => Number.isFinite(slot.scaled)));
    if (nan) return Infinity;
    if (!Number.isNaN(real)) return real;
    const worst = worstOf(slots);
    if (!Number.isNaN(worst)) return worst;
  }
  return NaN;
}

// What was excused as rounding, or has an argument as its known cause, stays so while its output is off.
export function judge(op: Operator, power: number): string {
  if (power === 0 || !['match', 'own_error', 'inherited', 'input_differs', 'argument_differs', 'rounding'].includes(op.verdict)) return op.verdict;
  const factor = 10 ** power;
  const differs = (side: string) => op.slots.some((slot) => slot.side === side &&
    (Number.isNaN(slot.scaled) ? slot.verdict !== 'match' && slot.method === 'statistics' : slot.scaled > factor));
  if (op.verdict === 'rounding') return differs('output') ? 'rounding' : 'match';
  if (!differs('output')) return differs('input') ? 'input_differs' : 'match';
  return differs('input') ? 'inherited' : op.verdict === 'argument_differs' ? 'argument_differs' : 'own_error';
}

export const verdicts = ['own_error', 'argument_differs', 'inherited', 'input_differs', 'not_comparable', 'unreadable', 'uncertain', 'missing', 'extra', 'skipped', 'rounding', 'match'];
export const isDiffering = (verdict: string): boolean => ['own_error', 'argument_differs', 'inherited', 'input_differs'].includes(verdict);

const words: Record<string, string> = {
  own_error: 'own error', argument_differs: 'argument differs', input_differs: 'input differs', not_comparable: 'not comparable', missing: 'only in golden',
  extra: 'only in actual',
};
export const wordOf = (verdict: string): string => words[verdict] ?? verdict.replaceAll('_', ' ');
export const toneOf = (verdict: string): string =>
  verdict === 'match' || verdict === 'rounding' ? 'good' : verdict === 'skipped' || verdict === '' ? 'quiet'
    : verdict === 'own_error' || verdict === 'argument_differs' ? 'bad' : verdict === 'inherited' ? 'warn' : verdict === 'input_differs' ? 'info' : 'odd';

export const countVerdicts = (result: Result, power: number): [string, number][] => {
  const counts = new Map<string, number>(result.overview?.verdicts ?? []);
  if (!result.overview) for (const op of result.operators) {
    const verdict = judge(op, power);
    counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  }
  const known = verdicts.filter((verdict) => counts.has(verdict));
  return [...known, ...[...counts.keys()].filter((verdict) => !verdicts.includes(verdict))].map((verdict) => [verdict, counts.get(verdict)!]);
};

export const ranksOf = (result: Result): number[] => result.overview?.ranks.map(([rank]) => rank) ?? [...new Set(result.operators.map((op) => op.rank))];
