// All operators: filtered, sorted, and only those in view are drawn.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { addPart, askServer, partOf, type Operator, type Result } from './data';
import { Name, Section, Verdict } from './common';
import { cosine, count, known, percent, plural, short } from './format';
import { errorOf, judge, ranksOf, toneOf, wordOf } from './judge';
import { setView, useView, type View } from './store';

interface Column { key: string; title: string; class?: string; isNumber?: boolean; value: (op: Operator) => string | number; show: (op: Operator) => preact.ComponentChildren }

function columnsOf(result: Result, view: View): Column[] {
  const several = ranksOf(result).length > 1;
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

function Tolerance({ rows }: { rows: Rows }) {
  const view = useView();
  const factor = 10 ** view.tolerance;
  const { differing, firstDiffering: first } = rows;
  return (
    <div class="tolerance">
      <label><span>Tolerance × {short(Number(factor.toPrecision(2)))}</span>
        <input type="range" min="-2" max="6" step="0.1" value={view.tolerance} aria-valuetext={`tolerances times ${short(factor)}`} onInput={(event) => setView({ tolerance: Number(event.currentTarget.value) })} /></label>
      {view.tolerance !== 0 && <button type="button" class="small" onClick={() => setView({ tolerance: 0 })}>As judged</button>}
      <p class="soft" role="status">{Number.isNaN(differing) ? '' : view.tolerance === 0 ? `${plural(differing, 'operator')} differ${differing === 1 ? 's' : ''}.` : <>Judged again: {plural(differing, 'operator')} would differ{first ? <>, the first is <a href="#operator" onClick={(event) => { event.preventDefault(); setView({ op: first.id, slot: 0 }); }}>{first.name}</a></> : ''}.</>}</p>
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

// The rows of the table: here, or asked of the server a hundred at a time.
interface Rows { count: number; all: number; at: (index: number) => Operator | null; differing: number; firstDiffering: Operator | { id: number; name: string } | null; indexOf: (op: Operator) => number; problem: string }

const isDiffering = (verdict: string): boolean => ['own_error', 'inherited', 'input_differs'].includes(verdict);

function useLocalRows(result: Result, view: View, columns: Column[]): Rows {
  const operators = useMemo(() => (result.overview ? [] : filtered(result, view, columns)), [result, view, columns]);
  const differing = useMemo(() => (result.overview ? [] : result.operators.filter((op) => isDiffering(judge(op, view.tolerance)))), [result, view.tolerance]);
  return { count: operators.length, all: result.operators.length, at: (index) => operators[index] ?? null, differing: differing.length, firstDiffering: differing[0] ?? null, indexOf: (op) => operators.indexOf(op), problem: '' };
}

const mostDrawn = 400_000; // rows: browsers draw no element that is much taller
const pageSize = 100;
const mostPages = 60; // kept

interface Page { ids: number[] }

const askFor = (view: View) => ({ text: view.text, verdict: view.verdict, phase: view.phase, type: view.type, module: view.module, step: view.step, rank: view.rank, sort: view.sort, tolerance: view.tolerance });

function useServerRows(result: Result, view: View, shown: number[]): Rows {
  const key = JSON.stringify(askFor(view));
  const state = useRef<{ key: string; pages: Map<number, Page | null>; count: number; differing: number; first: number }>({ key: '', pages: new Map(), count: result.total, differing: NaN, first: 0 });
  const [, redraw] = useState(0);
  const [problem, setProblem] = useState('');
  const wanted = [...new Set((shown.length > 0 ? shown : [0]).map((index) => Math.floor(index / pageSize)))].join();
  useEffect(() => {
    if (!result.overview) return;
    const now = state.current;
    if (now.key !== key) { now.key = key; now.pages = new Map(); }
    for (const number of wanted.split(',').map(Number)) {
      if (now.pages.has(number)) continue;
      now.pages.set(number, null);
      askServer('api/rows', { ...askFor(view), offset: number * pageSize, count: pageSize }).then((raw) => {
        if (state.current.key !== key) return;
        addPart(result, raw);
        const given = raw as unknown as { ids: number[]; total: number; differing: number; first_differing: number };
        Object.assign(now, { count: given.total, differing: given.differing, first: given.first_differing });
        now.pages.set(number, { ids: given.ids });
        for (const old of now.pages.keys()) if (now.pages.size > mostPages && Math.abs(old - number) > mostPages / 2) now.pages.delete(old);
        setProblem('');
        redraw((n) => n + 1);
      }).catch((error: Error) => { now.pages.delete(number); setProblem(error.message); });
    }
  }, [result, key, wanted]);
  const now = state.current;
  const first = result.byId.get(now.first);
  return {
    count: now.count, all: result.total, differing: now.differing, problem,
    at: (index) => result.byId.get(now.pages.get(Math.floor(index / pageSize))?.ids[index % pageSize] ?? -1) ?? null,
    firstDiffering: now.first > 0 ? first ?? { id: now.first, name: `operator ${now.first}` } : null,
    indexOf: () => -1,
  };
}

const valuesOf = (result: Result, view: View, field: 'verdict' | 'phase' | 'type' | 'step' | 'rank'): string[] => {
  const { overview } = result;
  if (!overview) return distinct(result.operators.map((op) => (field === 'verdict' ? judge(op, view.tolerance) : op[field])));
  const lists = { verdict: overview.verdicts, phase: overview.phases, type: overview.types, step: overview.steps, rank: overview.ranks };
  return distinct(lists[field].map(([value]) => value));
};

const mostExported = 100_000;

async function exportRows(result: Result, view: View, rows: Rows, columns: Column[]): Promise<void> {
  if (!result.overview) { exportCsv(Array.from({ length: rows.count }, (_, i) => rows.at(i)!), columns); return; }
  const found: Operator[] = [];
  for (let offset = 0; offset < Math.min(rows.count, mostExported); offset += 5000) {
    const raw = await askServer('api/rows', { ...askFor(view), offset, count: 5000 });
    const part = partOf(raw);
    found.push(...(raw as unknown as { ids: number[] }).ids.flatMap((id) => part.get(id) ?? []));
  }
  exportCsv(found, columns);
}

export function OperatorTable({ result, chosen }: { result: Result; chosen: Operator | null }) {
  const view = useView();
  const columns = useMemo(() => columnsOf(result, view), [result, view.tolerance]);
  const holder = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [isPrinted, setPrinted] = useState(false);
  const virtual = useMemo(() => new Virtualizer<HTMLDivElement, HTMLDivElement>({
    count: 0, getScrollElement: () => holder.current, estimateSize: () => rowHeight, overscan: 12, scrollToFn: elementScroll,
    observeElementRect, observeElementOffset, onChange: () => redraw((n) => n + 1), initialRect: { width: 800, height: 480 },
  }), []);
  const seen = virtual.getVirtualItems().map(({ index }) => index);
  const local = useLocalRows(result, view, columns), served = useServerRows(result, view, seen);
  const rows = result.overview ? served : local;
  const drawn = Math.min(rows.count, mostDrawn);
  virtual.setOptions({ ...virtual.options, count: drawn });
  useLayoutEffect(() => virtual._willUpdate());
  useEffect(() => virtual._didMount(), [virtual]);
  // The first bad one is what people look for.
  useEffect(() => { const at = chosen ? rows.indexOf(chosen) : -1; if (at > 2 && holder.current) holder.current.scrollTop = (at - 2) * rowHeight; }, [virtual]);
  useEffect(() => {
    const before = () => setPrinted(true), after = () => setPrinted(false);
    addEventListener('beforeprint', before); addEventListener('afterprint', after);
    return () => { removeEventListener('beforeprint', before); removeEventListener('afterprint', after); };
  }, []);
  const sort = (key: string) => setView({ sort: view.sort === `-${key}` ? key : view.sort === key ? '' : `-${key}` });
  const items = isPrinted ? Array.from({ length: Math.min(60, drawn) }, (_, index) => ({ index, start: index * rowHeight })) : virtual.getVirtualItems();
  const filters = [view.text, view.verdict, view.phase, view.type, view.step, view.rank, view.module].some(Boolean);
  const values = (field: 'verdict' | 'phase' | 'type' | 'step' | 'rank') => valuesOf(result, view, field);
  return (
    <Section id="table" title="All operators">
      {result.is_comparison && <Tolerance rows={rows} />}
      <div class="filters" role="search">
        <label class="field grow"><span>Find</span><input type="search" placeholder="name or source line" value={view.text} onInput={(event) => setView({ text: event.currentTarget.value })} /></label>
        <Choice label="Verdict" field="verdict" values={values('verdict')} words={wordOf} />
        <Choice label="Phase" field="phase" values={values('phase')} />
        <Choice label="Type" field="type" values={values('type')} />
        <Choice label="Step" field="step" values={values('step')} />
        <Choice label="Rank" field="rank" values={values('rank')} />
        <button type="button" onClick={() => exportRows(result, view, rows, columns)}>Export CSV</button>
      </div>
      <p class="hint" role="status">{count(rows.count)} of {plural(rows.all, 'operator')}{view.module && <> in <b class="breaks">{view.module}</b></>}{drawn < rows.count && <>; the first {count(drawn)} are shown</>}{!result.overview && result.total > rows.all && <>; {count(result.total - rows.all)} that match are left out of this file, and are in <code>opdump view</code></>}{filters && <> <button type="button" class="small" onClick={() => setView({ text: '', verdict: '', phase: '', type: '', step: '', rank: '', module: '' })}>Clear filters</button></>}</p>
      {rows.problem && <p class="failure" role="alert">{rows.problem}</p>}
      <div class="grid" role="table" aria-rowcount={rows.count} aria-label="Operators">
        <div class="scroll list" ref={holder} tabIndex={0} role="rowgroup" aria-label="Rows of operators">
          <div class="row head" role="row">
            {columns.map((column) => (
              <div role="columnheader" key={column.key} class={`${column.class ?? ''} ${column.isNumber ? 'number' : ''} c-${column.key}`} aria-sort={view.sort === column.key ? 'ascending' : view.sort === `-${column.key}` ? 'descending' : 'none'}>
                <button type="button" onClick={() => sort(column.key)}>{column.title}<span aria-hidden="true">{view.sort === column.key ? ' ▲' : view.sort === `-${column.key}` ? ' ▼' : ''}</span></button></div>
            ))}
          </div>
          <div class="body" ref={(element) => { if (element) element.style.height = `${(isPrinted ? Math.min(60, drawn) * rowHeight : virtual.getTotalSize())}px`; }}>
            {items.map(({ index, start }) => {
              const op = rows.at(index);
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
      {rows.count === 0 && <p class="empty">No operator passes the filters.</p>}
    </Section>
  );
}
