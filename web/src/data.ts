// The result as the program wrote it: tables as columns (docs/formats/result.md), made into rows here.

export type Cell = string | number | null;
type Columns = Record<string, Cell[]>;

export interface Raw {
  version: number;
  result: Record<string, Cell>;
  total_operators: number;
  [table: string]: unknown;
}

export interface Slot {
  id: number;
  name: string;
  side: string;
  dtype: string;
  actualDtype: string;
  shape: string;
  reason: string;
  verdict: string;
  method: string;
  elements: number;
  mismatch: number;
  nanMismatch: number;
  cosine: number;
  maxAbs: number;
  maxRel: number;
  relativeL2: number;
  meanAbs: number;
  rmse: number;
  rtol: number;
  atol: number;
  worstGolden: number;
  worstActual: number;
  scaled: number; // the worst error divided by the tolerance; NaN: not measured by elements
  statistics: Statistics | null;
}

export interface Statistics {
  count: number;
  min: number;
  max: number;
  mean: number;
  l2: number;
  nan: number;
  inf: number;
  zero: number;
}

export interface Operator {
  id: number;
  index: number; // among the operators of the page
  rank: number;
  graph: number;
  step: number;
  phase: string;
  type: string;
  name: string;
  actualName: string;
  module: string;
  source: string;
  stack: string[];
  verdict: string;
  sides: string;
  leftOut: string;
  key: Slot | null;
  slots: Slot[];
}

export interface Edge {
  side: string;
  rank: number;
  graph: number;
  producer: string;
  producerKind: string;
  output: number;
  consumer: string;
  input: number;
  dtype: string;
  shape: string;
}

export interface Picture {
  rows: number;
  columns: number;
  across: number;
  lowest: number;
  highest: number;
  bytes: string;
}

export interface Details {
  pictures: Map<string, Picture>;
  worst: { position: string; golden: number; actual: number }[];
  quantiles: { kind: string; share: number; value: number }[];
}

export interface Run {
  side: string;
  rank: number;
  facts: [string, string][];
}

export interface Result {
  is_comparison: boolean;
  about: Record<string, Cell>;
  operators: Operator[];
  byId: Map<number, Operator>;
  bySlot: Map<number, Operator>;
  byName: Map<string, Operator[]>;
  details: Map<number, Details>;
  edges: Edge[];
  arguments: Map<string, [string, string][]>;
  sources: Map<string, string>;
  runs: Run[];
  remarks: { kind: string; text: string }[];
  total: number;
  firstBad: Operator | null;
}

export const number = (value: Cell): number =>
  typeof value === 'number' ? value : value === 'inf' ? Infinity : value === '-inf' ? -Infinity : NaN;
const text = (value: Cell): string => (value === null ? '' : String(value));

function rows(raw: Raw, name: string): Record<string, Cell>[] {
  const columns = (raw[name] ?? {}) as Columns;
  const names = Object.keys(columns);
  const count = names.length > 0 ? columns[names[0]].length : 0;
  return Array.from({ length: count }, (_, i) => Object.fromEntries(names.map((key) => [key, columns[key][i]])));
}

function slotOf(row: Record<string, Cell>): Slot {
  return {
    id: number(row.id), name: text(row.name), side: text(row.side), dtype: text(row.dtype),
    actualDtype: text(row.actual_dtype), shape: text(row.shape), reason: text(row.reason), verdict: text(row.verdict),
    method: text(row.method), elements: number(row.elements), mismatch: number(row.mismatch_count),
    nanMismatch: number(row.nan_mismatch_count), cosine: number(row.cosine), maxAbs: number(row.max_abs),
    maxRel: number(row.max_rel), relativeL2: number(row.relative_l2), meanAbs: number(row.mean_abs),
    rmse: number(row.rmse), rtol: number(row.rtol), atol: number(row.atol), worstGolden: number(row.worst_golden),
    worstActual: number(row.worst_actual), scaled: number(row.scaled), statistics: null,
  };
}

function operatorOf(row: Record<string, Cell>, index: number): Operator {
  return {
    id: number(row.id), index, rank: number(row.rank), graph: number(row.graph), step: number(row.step),
    phase: text(row.phase), type: text(row.type), name: text(row.name), actualName: text(row.actual_name),
    module: text(row.module), source: row.source_file === null ? '' : `${text(row.source_file)}:${text(row.source_line)}`,
    stack: text(row.stack).split('\n').filter(Boolean), verdict: text(row.verdict), sides: text(row.sides),
    leftOut: text(row.left_out), key: null, slots: [],
  };
}

function readDetails(raw: Raw): Map<number, Details> {
  const found = new Map<number, Details>();
  const of = (slot: Cell): Details => {
    const id = number(slot);
    if (!found.has(id)) found.set(id, { pictures: new Map(), worst: [], quantiles: [] });
    return found.get(id)!;
  };
  for (const row of rows(raw, 'thumbnails'))
    of(row.slot).pictures.set(text(row.kind), {
      rows: number(row.rows), columns: number(row.columns), across: number(row.across), lowest: number(row.lowest), highest: number(row.highest),
      bytes: text(row.data),
    });
  for (const row of rows(raw, 'worst'))
    of(row.slot).worst.push({ position: text(row.position), golden: number(row.golden), actual: number(row.actual) });
  for (const row of rows(raw, 'quantiles'))
    of(row.slot).quantiles.push({ kind: text(row.kind), share: number(row.share), value: number(row.value) });
  return found;
}

const factNames: Record<string, string> = {
  path: 'dump', state: 'recording', runtime: 'runtime', opdump_version: 'opdump', config_path: 'configuration',
  operators: 'operators', calls: 'executions', tensors: 'tensors', run_id: 'run',
};

function runOf(row: Record<string, Cell>): Run {
  const facts: [string, string][] = [];
  for (const [key, name] of Object.entries(factNames)) if (row[key] !== null) facts.push([name, text(row[key])]);
  const [first, last] = [number(row.first_step), number(row.last_step)];
  if (first >= 0) facts.push(['steps', first === last ? String(first) : `${first} to ${last}`]);
  const [begin, end] = [number(row.started_us), number(row.ended_us)];
  if (begin > 0) facts.push(['recorded', new Date(begin / 1000).toISOString().slice(0, 19).replace('T', ' ') + ' UTC']);
  if (begin > 0 && end > begin) facts.push(['took', `${((end - begin) / 1e6).toFixed(1)} s`]);
  return { side: text(row.side), rank: number(row.rank), facts };
}

export function readResult(raw: Raw): Result {
  const operators = rows(raw, 'operators').map(operatorOf);
  const byId = new Map(operators.map((op) => [op.id, op]));
  const bySlot = new Map<number, Operator>();
  const slots = new Map<number, Slot>();
  for (const row of rows(raw, 'slots')) {
    const op = byId.get(number(row.operator));
    if (!op) continue;
    const slot = slotOf(row);
    op.slots.push(slot);
    slots.set(slot.id, slot);
    bySlot.set(slot.id, op);
  }
  rows(raw, 'operators').forEach((row, i) => { operators[i].key = slots.get(number(row.key_slot)) ?? null; });
  for (const row of rows(raw, 'statistics')) {
    const slot = slots.get(number(row.slot));
    if (slot)
      slot.statistics = {
        count: number(row.count), min: number(row.min), max: number(row.max), mean: number(row.mean),
        l2: number(row.l2), nan: number(row.nan_count), inf: number(row.inf_count), zero: number(row.zero_count),
      };
  }
  const byName = new Map<string, Operator[]>();
  for (const op of operators)
    for (const name of new Set([op.name, op.actualName]))
      if (name) byName.set(name, [...(byName.get(name) ?? []), op]);
  const args = new Map<string, [string, string][]>();
  for (const row of rows(raw, 'arguments')) {
    const list = args.get(text(row.operator)) ?? [];
    if (!list.some(([name]) => name === text(row.name))) list.push([text(row.name), text(row.value)]);
    args.set(text(row.operator), list);
  }
  return {
    is_comparison: raw.result.actual !== null && raw.result.actual !== undefined,
    about: raw.result, operators, byId, bySlot, byName, details: readDetails(raw),
    edges: rows(raw, 'edges').map((row) => ({
      side: text(row.side), rank: number(row.rank), graph: number(row.graph), producer: text(row.producer),
      producerKind: text(row.producer_kind), output: number(row.output), consumer: text(row.consumer),
      input: number(row.input), dtype: text(row.dtype), shape: text(row.shape),
    })),
    arguments: args,
    sources: new Map(rows(raw, 'sources').map((row) => [`${text(row.file)}:${text(row.line)}`, text(row.text)])),
    runs: rows(raw, 'runs').map(runOf),
    remarks: rows(raw, 'remarks').map((row) => ({ kind: text(row.kind), text: text(row.text) })),
    total: raw.total_operators,
    firstBad: byId.get(number(raw.result.first_bad ?? null)) ?? null,
  };
}

function bytesOf(base64: string): ArrayBuffer {
  const binary = atob(base64.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}

export const floats = (picture: Picture): Float32Array => new Float32Array(bytesOf(picture.bytes));
export const counts = (picture: Picture): number[] => Array.from(new BigUint64Array(bytesOf(picture.bytes)), Number);

// The data of the page, or of the server that serves it.
export async function loadRaw(): Promise<Raw> {
  const embedded = document.getElementById('data')?.textContent?.trim() ?? '';
  if (embedded === '') {
    const answer = await fetch(serverUrl('api/data', {}));
    if (!answer.ok) throw new Error(await answer.text());
    return (await answer.json()) as Raw;
  }
  const stream = new Blob([bytesOf(embedded)]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text()) as Raw;
}

// An address of the server that serves this page.
export function serverUrl(path: string, parameters: Record<string, string | number>): string {
  const query = new URLSearchParams({ token: new URLSearchParams(location.search).get('token') ?? '' });
  for (const [key, value] of Object.entries(parameters)) query.set(key, String(value));
  return `${path}?${query.toString()}`;
}

export const isServed = (): boolean => (document.getElementById('data')?.textContent?.trim() ?? '') === '';
