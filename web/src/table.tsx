// All operators: filtered, sorted, and only those in view are drawn.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Operator, Result } from './data';
import { Name, Section, Verdict } from './common';
import { cosine, count, known, percent, plural, short } from './format';
import { errorOf, judge, toneOf, wordOf } from './judge';
import { setView, useView, type View } from './store';

interface Column { key: string; title: string; class?: string; isNumber?: boolean; value: (op: Operator) => string | number; show: (op: Operator) => preact.ComponentChildren }

function columnsOf(result: Result, view: View): Column[] {
  const several = new Set(result.operators.map((op) => op.rank)).size > 1;
  const columns: Column[] = [];
  if (result.is_comparison) columns.push({ key: 'verdict', title: 'verdict', value: (op) => judge(op, view.tolerance), show: (op) => <Verdict verdict={judge(op, view.tolerance)} /> });
  if (several) columns.push({ key: 'rank', title: 'rank', isNumber: true, value: (op) => op.rank, show: (op) => op.rank });
  columns.push(
    { key: 'step', title: 'step', isNumber: true, value: (op) => op.step, show: (op) => op.step },
    { key: 'name', title: 'operator', class: 'wide', value: (op) => op.name, show: (op) => <Name name={op.name} /> },
    { key: 'type', title: 'type', class: 'type', value: (op) => op.type, show: (op) => <span title={op.type}>{op.type}</span> },
  );
  if (result.is_comparison)
    columns.push(
      { key: 'error', title: 'error ÷ tol.', isNumber: true, value: errorOf, show: (op) => known(errorOf(op)) },
      { key: 'max', title: 'largest error', isNumber: true, value: (op) => op.key?.maxAbs ?? NaN, show: (op) => known(op.key?.maxAbs ?? NaN) },
      { key: 'cosine', title: 'cosine', isNumber: true, value: (op) => op.key?.cosine ?? NaN, show: (op) => cosine(op.key?.cosine ?? NaN) },
      { key: 'differ', title: 'differ', isNumber: true, value: (op) => (op.key ? op.key.mismatch / op.key.elements : NaN), show: (op) => (op.key && op.key.elements > 0 ? <span title={`${count(op.key.mismatch)} of ${count(op.key.elements)}`}>{op.key.mismatch === 0 ? '0' : percent(op.key.mismatch, op.key.elements)}</span> : '—') },
    );
  else {
    const of = (op: Operator) => op.slots.filter((slot) => slot.side === 'output' && slot.statistics).at(0)?.statistics ?? null;
    columns.push(
      { key: 'l2', title: 'L2 norm', isNumber: true, value: (op) => of(op)?.l2 ?? NaN, show: (op) => known(of(op)?.l2 ?? NaN) },
      { key: 'min', title: 'smallest', isNumber: true, value: (op) => of(op)?.min ?? NaN, show: (op) => known(of(op)?.min ?? NaN) },
      { key: 'maxv', title: 'largest', isNumber: true, value: (op) => of(op)?.max ?? NaN, show: (op) => known(of(op)?.max ?? NaN) },
      { key: 'nan', title: 'NaN, Inf', isNumber: true, value: (op) => (of(op)?.nan ?? 0) + (of(op)?.inf ?? 0), show: (op) => count((of(op)?.nan ?? 0) + (of(op)?.inf ?? 0)) },
      { key: 'zero', title: 'zeros', isNumber: true, value: (op) => (of(op) ? of(op)!.zero / of(op)!.count : NaN), show: (op) => (of(op) ? percent(of(op)!.zero, of(op)!.count) || '0 %' : '—') },
    );
  }
  return columns;
}

const compare = (a: string | number, b: string | number): number =>
  typeof a === 'number' && typeof b === 'number'
    ? (Number.isNaN(a) ? 1 : 0) - (Number.isNaN(b) ? 1 : 0) || a - b
    : String(a).localeCompare(String(b), 'en', { numeric: true });

// What no spreadsheet takes for a formula.
const csvField = (value: unknown): string => {
  const text = typeof value === 'number' && Number.isNaN(value) ? '' : String(value);
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

function exportCsv(operators: Operator[], columns: Column[]) {
  const lines = [['phase', 'source', ...columns.map((column) => column.key)], ...operators.map((op) => [op.phase, op.source, ...columns.map((column) => column.value(op))])];
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([lines.map((line) => line.map(csvField).join(',') + '\r\n').join('')], { type: 'text/csv' }));
  link.download = 'operators.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function Choice({ label, field, values, words }: { label: string; field: 'verdict' | 'phase' | 'type' | 'step' | 'rank'; values: string[]; words?: (value: string) => string }) {
  const view = useView();
  if (values.length < 2) return null;
  return (
    <label class="field"><span>{label}</span>
      <select value={view[field]} onChange={(event) => setView({ [field]: event.currentTarget.value })}>
        <option value="">all</option>{values.map((value) => <option key={value} value={value}>{words ? words(value) : value}</option>)}
      </select></label>
  );
}

function Tolerance({ result }: { result: Result }) {
  const view = useView();
  const differing = result.operators.filter((op) => ['own_error', 'inherited', 'input_differs'].includes(judge(op, view.tolerance)));
  const factor = 10 ** view.tolerance;
  return (
    <div class="tolerance">
      <label><span>Tolerance × {short(Number(factor.toPrecision(2)))}</span>
        <input type="range" min="-2" max="6" step="0.1" value={view.tolerance} aria-valuetext={`tolerances times ${short(factor)}`} onInput={(event) => setView({ tolerance: Number(event.currentTarget.value) })} /></label>
      {view.tolerance !== 0 && <button type="button" class="small" onClick={() => setView({ tolerance: 0 })}>As judged</button>}
      <p class="soft" role="status">{view.tolerance === 0 ? `${plural(differing.length, 'operator')} differ${differing.length === 1 ? 's' : ''}.` : <>Judged again: {plural(differing.length, 'operator')} would differ{differing[0] ? <>, the first is <a href="#operator" onClick={(event) => { event.preventDefault(); setView({ op: differing[0].id, slot: 0 }); }}>{differing[0].name}</a></> : ''}.</>}</p>
    </div>
  );
}

const distinct = (values: (string | number)[]): string[] => [...new Set(values.map(String))].filter(Boolean).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));

function filtered(result: Result, view: View, columns: Column[]): Operator[] {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = result.operators.filter((op) =>
    (!view.verdict || judge(op, view.tolerance) === view.verdict) && (!view.phase || op.phase === view.phase) && (!view.type || op.type === view.type) &&
    (!view.step || String(op.step) === view.step) && (!view.rank || String(op.rank) === view.rank) && (!view.module || op.module === view.module || op.module.startsWith(`${view.module}/`)) &&
    words.every((word) => op.name.toLowerCase().includes(word) || op.source.toLowerCase().includes(word)));
  const column = columns.find((one) => one.key === view.sort.replace(/^-/, ''));
  if (!column) return found;
  const sign = view.sort.startsWith('-') ? -1 : 1;
  return found.map((op) => [column.value(op), op] as const).sort((a, b) => {
    const isNothing = (value: string | number) => typeof value === 'number' && Number.isNaN(value);
    if (isNothing(a[0]) || isNothing(b[0])) return Number(isNothing(a[0])) - Number(isNothing(b[0]));
    return sign * compare(a[0], b[0]);
  }).map(([, op]) => op);
}

const rowHeight = 36;

export function OperatorTable({ result, chosen }: { result: Result; chosen: Operator | null }) {
  const view = useView();
  const columns = useMemo(() => columnsOf(result, view), [result, view.tolerance]);
  const operators = useMemo(() => filtered(result, view, columns), [result, view, columns]);
  const holder = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [isPrinted, setPrinted] = useState(false);
  const rows = useMemo(() => new Virtualizer<HTMLDivElement, HTMLDivElement>({
    count: 0, getScrollElement: () => holder.current, estimateSize: () => rowHeight, overscan: 12, scrollToFn: elementScroll,
    observeElementRect, observeElementOffset, onChange: () => redraw((n) => n + 1), initialRect: { width: 800, height: 480 },
  }), []);
  rows.setOptions({ ...rows.options, count: operators.length });
  useLayoutEffect(() => rows._willUpdate());
  useEffect(() => rows._didMount(), [rows]);
  // The first bad one is what people look for.
  useEffect(() => { const at = chosen ? operators.indexOf(chosen) : -1; if (at > 2 && holder.current) holder.current.scrollTop = (at - 2) * rowHeight; }, [rows]);
  useEffect(() => {
    const before = () => setPrinted(true), after = () => setPrinted(false);
    addEventListener('beforeprint', before); addEventListener('afterprint', after);
    return () => { removeEventListener('beforeprint', before); removeEventListener('afterprint', after); };
  }, []);
  const sort = (key: string) => setView({ sort: view.sort === `-${key}` ? key : view.sort === key ? '' : `-${key}` });
  const items = isPrinted ? operators.slice(0, 60).map((_, index) => ({ index, start: index * rowHeight })) : rows.getVirtualItems();
  const filters = [view.text, view.verdict, view.phase, view.type, view.step, view.rank, view.module].some(Boolean);
  return (
    <Section id="table" title="All operators">
      {result.is_comparison && <Tolerance result={result} />}
      <div class="filters" role="search">
        <label class="field grow"><span>Find</span><input type="search" placeholder="name or source line" value={view.text} onInput={(event) => setView({ text: event.currentTarget.value })} /></label>
        <Choice label="Verdict" field="verdict" values={distinct(result.operators.map((op) => judge(op, view.tolerance)))} words={wordOf} />
        <Choice label="Phase" field="phase" values={distinct(result.operators.map((op) => op.phase))} />
        <Choice label="Type" field="type" values={distinct(result.operators.map((op) => op.type))} />
        <Choice label="Step" field="step" values={distinct(result.operators.map((op) => op.step))} />
        <Choice label="Rank" field="rank" values={distinct(result.operators.map((op) => op.rank))} />
        <button type="button" onClick={() => exportCsv(operators, columns)}>Export CSV</button>
      </div>
      <p class="hint" role="status">{count(operators.length)} of {plural(result.operators.length, 'operator')}{view.module && <> in <b class="breaks">{view.module}</b></>}{result.total > result.operators.length && <>; {count(result.total - result.operators.length)} that match are left out of this file, and are in <code>opdump view</code></>}{filters && <> <button type="button" class="small" onClick={() => setView({ text: '', verdict: '', phase: '', type: '', step: '', rank: '', module: '' })}>Clear filters</button></>}</p>
      <div class="grid" role="table" aria-rowcount={operators.length} aria-label="Operators">
        <div class="scroll list" ref={holder} tabIndex={0} role="rowgroup" aria-label="Rows of operators">
          <div class="row head" role="row">
            {columns.map((column) => (
              <div role="columnheader" key={column.key} class={`${column.class ?? ''} ${column.isNumber ? 'number' : ''} c-${column.key}`} aria-sort={view.sort === column.key ? 'ascending' : view.sort === `-${column.key}` ? 'descending' : 'none'}>
                <button type="button" onClick={() => sort(column.key)}>{column.title}<span aria-hidden="true">{view.sort === column.key ? ' ▲' : view.sort === `-${column.key}` ? ' ▼' : ''}</span></button></div>
            ))}
          </div>
          <div class="body" ref={(element) => { if (element) element.style.height = `${(isPrinted ? Math.min(60, operators.length) * rowHeight : rows.getTotalSize())}px`; }}>
            {items.map(({ index, start }) => {
              const op = operators[index];
              if (!op) return null;
              const choose = () => setView({ op: op.id, slot: 0 });
              return (
                <div class={`row ${toneOf(judge(op, view.tolerance))} ${chosen?.id === op.id ? 'chosen' : ''}`} role="row" aria-rowindex={index + 1} key={op.id} tabIndex={0} ref={(element) => { if (element) element.style.transform = `translateY(${start}px)`; }}
                  onClick={choose} onKeyDown={(event) => { if (event.key === 'Enter') choose(); }}>
                  {columns.map((column) => <div role="cell" key={column.key} class={`${column.class ?? ''} ${column.isNumber ? 'number' : ''} c-${column.key}`}>{column.show(op)}</div>)}
                </div>
              );
            })}
          </div>
        </div>
      </div>
      {operators.length === 0 && <p class="empty">No operator passes the filters.</p>}
    </Section>
  );
}
