// All operators: filtered, sorted, and only those in view are drawn.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from '@tanstack/virtual-core';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { askServer, number, type Cell, type Operator, type Result } from './data';
import { InShell, Name, Section, Verdict } from './common';
import { cosine, count, known, percent, plural, shellText, short } from './format';
import { errorOf, isDiffering, judge, ranksOf, toneOf, wordOf } from './judge';
import { setView, useView, type View } from './store';

// What the table shows of an operator. Of a large result the server sends only this, in columns.
interface Row {
  id: number; rank: number; step: number; phase: string; type: string; name: string; source: string; verdict: string;
  error: number; max: number; cosine: number; mismatch: number; elements: number; // of a comparison
  l2: number; min: number; maxv: number; nan: number; zero: number; // of one dump
}

interface Column { key: string; title: string; class?: string; isNumber?: boolean; value: (row: Row) => string | number; show: (row: Row) => preact.ComponentChildren }

function rowOf(op: Operator, tolerance: number): Row {
  const statistics = op.slots.find((slot) => slot.side === 'output' && slot.statistics)?.statistics;
  return {
    id: op.id, rank: op.rank, step: op.step, phase: op.phase, type: op.type, name: op.name, source: op.source, verdict: judge(op, tolerance),
    error: errorOf(op), max: op.key?.maxAbs ?? NaN, cosine: op.key?.cosine ?? NaN, mismatch: op.key?.mismatch ?? NaN, elements: op.key?.elements ?? NaN,
    l2: statistics?.l2 ?? NaN, min: statistics?.min ?? NaN, maxv: statistics?.max ?? NaN, nan: (statistics?.nan ?? 0) + (statistics?.inf ?? 0),
    zero: statistics ? statistics.zero / statistics.count : NaN,
  };
}

const plain = (key: 'error' | 'max' | 'l2' | 'min' | 'maxv', title: string): Column => ({ key, title, isNumber: true, value: (row) => row[key], show: (row) => known(row[key]) });

function columnsOf(result: Result): Column[] {
  const columns: Column[] = [];
  if (result.is_comparison) columns.push({ key: 'verdict', title: 'verdict', value: (row) => row.verdict, show: (row) => <Verdict verdict={row.verdict} /> });
  if (ranksOf(result).length > 1) columns.push({ key: 'rank', title: 'rank', isNumber: true, value: (row) => row.rank, show: (row) => row.rank });
  columns.push(
    { key: 'step', title: 'step', isNumber: true, value: (row) => row.step, show: (row) => row.step },
    { key: 'name', title: 'operator', class: 'wide', value: (row) => row.name, show: (row) => <Name name={row.name} /> },
    { key: 'type', title: 'type', class: 'type', value: (row) => row.type, show: (row) => <span title={row.type}>{row.type}</span> },
  );
  if (result.is_comparison)
    columns.push(
      plain('error', 'error ÷ tol.'), plain('max', 'largest error'),
      { key: 'cosine', title: 'cosine', isNumber: true, value: (row) => row.cosine, show: (row) => cosine(row.cosine, row.mismatch) },
      { key: 'differ', title: 'differ', isNumber: true, value: (row) => row.mismatch / row.elements, show: (row) => (row.elements > 0 ? <span title={`${count(row.mismatch)} of ${count(row.elements)}`}>{row.mismatch === 0 ? '0' : percent(row.mismatch, row.elements)}</span> : '—') },
    );
  else
    columns.push(
      plain('l2', 'L2 norm'), plain('min', 'smallest'), plain('maxv', 'largest'),
      { key: 'nan', title: 'NaN, Inf', isNumber: true, value: (row) => row.nan, show: (row) => (Number.isNaN(row.nan) ? '—' : count(row.nan)) },
      { key: 'zero', title: 'zeros', isNumber: true, value: (row) => row.zero, show: (row) => (Number.isNaN(row.zero) ? '—' : percent(row.zero, 1) || '0 %') },
    );
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

function exportCsv(rows: Row[], columns: Column[]) {
  const lines = [['phase', 'source', ...columns.map((column) => column.key)], ...rows.map((row) => [row.phase, row.source, ...columns.map((column) => column.value(row))])];
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([lines.map((line) => line.map(csvField).join(',') + '\r\n').join('')], { type: 'text/csv' }));
  link.download = 'operators.csv';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function Choice({ label, field, values, words }: { label: string; field: 'verdict' | 'phase' | 'type' | 'step' | 'rank'; values: string[]; words?: (value: string) => string }) {
  const view = useView('verdict', 'phase', 'type', 'step', 'rank');
  if (values.length < 2) return null;
  return (
    <label class="field"><span>{label}</span>
      <select value={view[field]} onChange={(event) => setView({ [field]: event.currentTarget.value })}>
        <option value="">all</option>{values.map((value) => <option key={value} value={value}>{words ? words(value) : value}</option>)}
      </select></label>
  );
}

function Tolerance({ rows }: { rows: Rows }) {
  const view = useView('tolerance');
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

function filtered(result: Result, view: Asked, columns: Column[]): Row[] {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = result.operators.filter((op) =>
    (!view.verdict || judge(op, view.tolerance) === view.verdict) && (!view.phase || op.phase === view.phase) && (!view.type || op.type === view.type) &&
    (!view.step || String(op.step) === view.step) && (!view.rank || String(op.rank) === view.rank) && (!view.module || op.module === view.module || op.module.startsWith(`${view.module}/`)) &&
    words.every((word) => op.name.toLowerCase().includes(word) || op.source.toLowerCase().includes(word))).map((op) => rowOf(op, view.tolerance));
  const column = columns.find((one) => one.key === view.sort.replace(/^-/, ''));
  if (!column) return found;
  const sign = view.sort.startsWith('-') ? -1 : 1;
  return found.map((row) => [column.value(row), row] as const).sort((a, b) => {
    const isNothing = (value: string | number) => typeof value === 'number' && Number.isNaN(value);
    if (isNothing(a[0]) || isNothing(b[0])) return Number(isNothing(a[0])) - Number(isNothing(b[0]));
    return sign * compare(a[0], b[0]);
  }).map(([, row]) => row);
}

// As in style.css. A narrow screen shows an operator in three lines: its module, its name, its verdict and error.
const narrow = matchMedia('(max-width: 560px)');
const heightNow = (): number => (narrow.matches ? 76 : 36);
// What the library keeps for each element counts: it gets blocks of rows.
const blockRows = 10;

// Which rows, in which order.
type Asked = Omit<View, 'op' | 'slot' | 'plane' | 'place' | 'side'>;

// The rows of the table: here, or asked of the server a hundred at a time.
interface Rows { count: number; all: number; at: (index: number) => Row | null; differing: number; firstDiffering: { id: number; name: string } | null; indexOf: (id: number) => number; problem: string }

function useLocalRows(result: Result, view: Asked, columns: Column[]): Rows {
  const rows = useMemo(() => (result.overview ? [] : filtered(result, view, columns)), [result, view, columns]);
  const differing = useMemo(() => (result.overview ? [] : result.operators.filter((op) => isDiffering(judge(op, view.tolerance)))), [result, view.tolerance]);
  return { count: rows.length, all: result.operators.length, at: (index) => rows[index] ?? null, differing: differing.length, firstDiffering: differing[0] ?? null, indexOf: (id) => rows.findIndex((row) => row.id === id), problem: '' };
}

const mostDrawn = 400_000; // rows: browsers draw no element that is much taller
const pageSize = 100;
const mostPages = 60; // kept

interface Answer { total: number; differing: number; first_differing?: { id: number; name: string }; rows: Record<string, Cell[]> }
const texts = ['phase', 'type', 'name', 'source', 'verdict'];

async function askRows(view: Asked, offset: number, most: number): Promise<Answer & { list: Row[] }> {
  const { text, verdict, phase, type, module, step, rank, sort, tolerance } = view;
  const answer = (await askServer('api/rows', { text, verdict, phase, type, module, step, rank, sort, tolerance, offset, count: most })) as unknown as Answer;
  const names = Object.keys(answer.rows);
  const list = (answer.rows.id ?? []).map((_, i) => Object.fromEntries(names.map((name) => [name, texts.includes(name) ? String(answer.rows[name][i] ?? '') : number(answer.rows[name][i])])) as unknown as Row);
  return { ...answer, list };
}

function useServerRows(result: Result, view: Asked, shown: number[]): Rows {
  const state = useRef<{ view: Asked | null; pages: Map<number, Row[] | null>; count: number; differing: number; first: Rows['firstDiffering'] }>({ view: null, pages: new Map(), count: result.total, differing: NaN, first: null });
  const [, redraw] = useState(0);
  const [problem, setProblem] = useState('');
  const wanted = [...new Set((shown.length > 0 ? shown : [0]).map((index) => Math.floor(index / pageSize)))].join();
  useEffect(() => {
    if (!result.overview) return;
    const now = state.current;
    if (now.view !== view) { now.view = view; now.pages = new Map(); }
    for (const page of wanted.split(',').map(Number)) {
      if (now.pages.has(page)) continue;
      now.pages.set(page, null);
      askRows(view, page * pageSize, pageSize).then((answer) => {
        if (state.current.view !== view) return;
        Object.assign(now, { count: answer.total, differing: answer.differing, first: answer.first_differing ?? null });
        now.pages.set(page, answer.list);
        for (const old of now.pages.keys()) if (now.pages.size > mostPages && Math.abs(old - page) > mostPages / 2) now.pages.delete(old);
        setProblem('');
        redraw((n) => n + 1);
      }).catch((error: Error) => { now.pages.delete(page); setProblem(error.message); });
    }
  }, [result, view, wanted]);
  const now = state.current;
  return {
    count: now.count, all: result.total, differing: now.differing, problem, firstDiffering: now.first,
    at: (index) => now.pages.get(Math.floor(index / pageSize))?.[index % pageSize] ?? null, indexOf: () => -1,
  };
}

const valuesOf = (result: Result, view: Asked, field: 'verdict' | 'phase' | 'type' | 'step' | 'rank'): string[] => {
  const { overview } = result;
  if (!overview) return distinct(result.operators.map((op) => (field === 'verdict' ? judge(op, view.tolerance) : op[field])));
  const lists = { verdict: overview.verdicts, phase: overview.phases, type: overview.types, step: overview.steps, rank: overview.ranks };
  return distinct(lists[field].map(([value]) => value));
};

const mostExported = 100_000;

async function exportRows(result: Result, view: Asked, rows: Rows, columns: Column[]): Promise<void> {
  if (!result.overview) { exportCsv(Array.from({ length: rows.count }, (_, i) => rows.at(i)!), columns); return; }
  const found: Row[] = [];
  for (let offset = 0; offset < Math.min(rows.count, mostExported); offset += 5000) found.push(...(await askRows(view, offset, 5000)).list);
  exportCsv(found, columns);
}

// The filters as options of the program, where it has them.
function optionsOf(result: Result, view: Asked): string {
  const options: [string, string][] = [['op', /\s/.test(view.text) ? '' : view.text], ['module', view.module], ['type', view.type], ['phase', view.phase], ['step', view.step], ['rank', view.rank]];
  const sort = view.sort === '-error' && result.is_comparison ? ['--sort error'] : view.sort === 'name' ? ['--sort name'] : [];
  const all = !result.is_comparison ? '--flat' : view.verdict === '' || view.verdict === 'match' || view.verdict === 'skipped' ? '--all' : '';
  return [...options.filter(([, value]) => value).map(([name, value]) => `--${name} ${shellText(value)}`), ...sort, all].filter(Boolean).join(' ');
}

export function OperatorTable({ result, chosen }: { result: Result; chosen: number }) {
  const view = useView('text', 'verdict', 'phase', 'type', 'module', 'step', 'rank', 'sort', 'tolerance');
  const columns = useMemo(() => columnsOf(result), [result]);
  const holder = useRef<HTMLDivElement>(null);
  const [, redraw] = useState(0);
  const [isPrinted, setPrinted] = useState(false);
  const virtual = useMemo(() => new Virtualizer<HTMLDivElement, HTMLDivElement>({
    count: 0, getScrollElement: () => holder.current, estimateSize: () => 0, overscan: 1, scrollToFn: elementScroll,
    observeElementRect, observeElementOffset, onChange: () => redraw((n) => n + 1), initialRect: { width: 800, height: 480 },
  }), []);
  const [rowHeight, setRowHeight] = useState(heightNow);
  const seen = virtual.getVirtualItems().flatMap(({ index }) => Array.from({ length: blockRows }, (_, i) => index * blockRows + i));
  const local = useLocalRows(result, view, columns), served = useServerRows(result, view, seen);
  const rows = result.overview ? served : local;
  const drawn = Math.min(rows.count, mostDrawn);
  virtual.setOptions({ ...virtual.options, count: Math.ceil(drawn / blockRows), estimateSize: () => blockRows * rowHeight });
  useLayoutEffect(() => virtual._willUpdate());
  useEffect(() => virtual._didMount(), [virtual]);
  useEffect(() => {
    const measure = () => setRowHeight(heightNow());
    narrow.addEventListener('change', measure);
    return () => narrow.removeEventListener('change', measure);
  }, []);
  useLayoutEffect(() => virtual.measure(), [rowHeight]);
  // The first bad one is what people look for.
  useEffect(() => { const at = chosen ? rows.indexOf(chosen) : -1; if (at > 2 && holder.current) holder.current.scrollTop = (at - 2) * rowHeight; }, [virtual]);
  useEffect(() => {
    const before = () => setPrinted(true), after = () => setPrinted(false);
    addEventListener('beforeprint', before); addEventListener('afterprint', after);
    return () => { removeEventListener('beforeprint', before); removeEventListener('afterprint', after); };
  }, []);
  const sort = (key: string) => setView({ sort: view.sort === `-${key}` ? key : view.sort === key ? '' : `-${key}` });
  const items = (isPrinted ? Array.from({ length: Math.min(60, drawn) }, (_, index) => index) : seen.filter((index) => index < drawn)).map((index) => ({ index, start: index * rowHeight }));
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
          <div class="body" ref={(element) => { if (element) element.style.height = `${(isPrinted ? Math.min(60, drawn) : drawn) * rowHeight}px`; }}>
            {items.map(({ index, start }) => {
              const row = rows.at(index);
              if (!row) return null;
              const choose = () => setView({ op: row.id, slot: 0 });
              return (
                <div class={`row ${toneOf(row.verdict)} ${chosen === row.id ? 'chosen' : ''}`} role="row" aria-rowindex={index + 1} key={row.id} tabIndex={0} ref={(element) => { if (element) element.style.transform = `translateY(${start}px)`; }}
                  onClick={choose} onKeyDown={(event) => { if (event.key === 'Enter') choose(); }}>
                  {columns.map((column) => <div role="cell" key={column.key} class={`${column.class ?? ''} ${column.isNumber ? 'number' : ''} c-${column.key}`}>{column.show(row)}</div>)}
                </div>
              );
            })}
          </div>
        </div>
      </div>
      {rows.count === 0 && <p class="empty">No operator passes the filters.</p>}
      <InShell result={result} verb={result.is_comparison ? 'compare' : 'ls'} options={optionsOf(result, view)} />
    </Section>
  );
}
