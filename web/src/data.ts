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

// An activation whose units give nothing in one execution; a tensor that fills more than half of its dtype's range.
export interface DeadUnits { id: number; name: string; step: number; rank: number; units: number; dead: number }
export interface Overflow { id: number; name: string; step: number; rank: number; slot: number; slotName: string; dtype: string; infinities: number; fullness: number }

// What `opdump blame` names. `removes`: the share of the final error that is gone without it; NaN: not measured.
export interface Culprit { id: number; name: string; step: number; rank: number; slot: string; cause: string; confidence: string; removes: number; text: string }

export interface Argument { name: string; golden: string | null; actual: string | null }

// A point of the curve: an operator, or the worst of some that follow one another.
export interface Point { id: number; at: number; value: number; phase: string; name: string } // name: empty where the server has to be asked

// Of a result with too many operators for one answer: what the server has summed up.
export interface Overview {
  verdicts: [string, number][];
  phases: [string, number][];
  types: [string, number][];
  steps: [number, number][];
  ranks: [number, number][];
  lines: CurveLine[];
}
export interface CurveLine { rank: number; step: number; size: number; points: Point[] }

// An operator of one step, and its errors on ranks.
export interface RankRow { name: string; step: number; collective: boolean; cells: { rank: number; id: number; value: number }[] }

export interface Result {
  overview: Overview | null; // of a result that is asked for part by part
  rankRows: RankRow[]; // of several ranks, then
  detailed: Set<number>; // operators whose details have come, then
  is_comparison: boolean;
  about: Record<string, Cell>;
  operators: Operator[];
  byId: Map<number, Operator>;
  bySlot: Map<number, Operator>;
  byName: Map<string, Operator[]>;
  details: Map<number, Details>;
  edges: Edge[];
  edgeKeys: Set<string>; // of a result that is asked for part by part
  arguments: Map<string, Argument[]>;
  sources: Map<string, string>;
  runs: Run[];
  remarks: { kind: string; text: string }[];
  culprits: Culprit[];
  deadUnits: DeadUnits[];
  overflows: Overflow[];
  total: number;
  firstShown: number; // the operator that is looked at until another is chosen
  firstBad: Operator | null; // the culprit, if `opdump blame` has found one
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

// As PyTorch's C++ library calls them.
const dtypeNames: Record<string, string> = { Float: 'float32', Double: 'float64', Half: 'float16', BFloat16: 'bfloat16' };

function runOf(row: Record<string, Cell>): Run {
  const facts: [string, string][] = [];
  for (const [key, name] of Object.entries(factNames)) if (row[key] !== null) facts.push([name, text(row[key])]);
  const [first, last] = [number(row.first_step), number(row.last_step)];
  if (first >= 0) facts.push(['steps', first === last ? String(first) : `${first} to ${last}`]);
  const [begin, end] = [number(row.started_us), number(row.ended_us)];
  if (begin > 0) facts.push(['recorded', new Date(begin / 1000).toISOString().slice(0, 19).replace('T', ' ') + ' UTC']);
  if (begin > 0 && end > begin) facts.push(['took', `${((end - begin) / 1e6).toFixed(1)} s`]);
  const environment: Record<string, string> = JSON.parse(text(row.environment ?? null) || '{}');
  if (environment.command) facts.unshift(['command', environment.command]);
  for (const [name, value] of Object.entries(environment)) if (name !== 'command') facts.push([name, name === 'default dtype' ? dtypeNames[value] ?? value : value]);
  return { side: text(row.side), rank: number(row.rank), facts };
}

const emptyResult = (): Result => ({
  overview: null, rankRows: [], detailed: new Set(), is_comparison: false, about: {}, operators: [], byId: new Map(), bySlot: new Map(), byName: new Map(),
  details: new Map(), edges: [], edgeKeys: new Set(), arguments: new Map(), sources: new Map(), runs: [], remarks: [], culprits: [], deadUnits: [], overflows: [], total: 0, firstShown: 0, firstBad: null,
});

// Operators that are known already stay; they may get slots.
function addOperators(result: Result, raw: Raw): void {
  const slots = new Map<number, Slot>();
  const given = rows(raw, 'operators');
  const fresh = new Set<number>();
  for (const row of given) {
    const id = number(row.id);
    if (result.byId.has(id)) continue;
    const op = operatorOf(row, result.operators.length);
    fresh.add(id);
    result.operators.push(op);
    result.byId.set(id, op);
    for (const name of new Set([op.name, op.actualName]))
      if (name) {
        const same = result.byName.get(name);
        if (same) same.push(op);
        else result.byName.set(name, [op]);
      }
  }
  for (const row of rows(raw, 'slots')) {
    const op = result.byId.get(number(row.operator));
    if (!op || !fresh.has(op.id)) continue;
    const slot = slotOf(row);
    op.slots.push(slot);
    slots.set(slot.id, slot);
    result.bySlot.set(slot.id, op);
  }
  for (const row of given) if (fresh.has(number(row.id))) result.byId.get(number(row.id))!.key = slots.get(number(row.key_slot)) ?? null;
  for (const row of rows(raw, 'statistics')) {
    const slot = slots.get(number(row.slot));
    if (slot)
      slot.statistics = {
        count: number(row.count), min: number(row.min), max: number(row.max), mean: number(row.mean),
        l2: number(row.l2), nan: number(row.nan_count), inf: number(row.inf_count), zero: number(row.zero_count),
      };
  }
}

function addArguments(result: Result, raw: Raw): void {
  for (const row of rows(raw, 'arguments')) {
    const list = result.arguments.get(text(row.operator)) ?? [];
    const side = text(row.side) === 'actual' ? 'actual' : 'golden';
    const known = list.find((one) => one.name === text(row.name));
    if (!known) list.push({ name: text(row.name), golden: null, actual: null, [side]: text(row.value) });
    else known[side] ??= text(row.value);
    result.arguments.set(text(row.operator), list);
  }
}

const edgeOf = (row: Record<string, Cell>): Edge => ({
  side: text(row.side), rank: number(row.rank), graph: number(row.graph), producer: text(row.producer),
  producerKind: text(row.producer_kind), output: number(row.output), consumer: text(row.consumer),
  input: number(row.input), dtype: text(row.dtype), shape: text(row.shape),
});

// What belongs to operators: all there is, or what the server says of some of them.
export function addPart(result: Result, raw: Raw): void {
  addOperators(result, raw);
  for (const [slot, details] of readDetails(raw)) result.details.set(slot, details);
  for (const edge of rows(raw, 'edges').map(edgeOf)) {
    if (result.overview) {
      const key = JSON.stringify(edge);
      if (result.edgeKeys.has(key)) continue;
      result.edgeKeys.add(key);
    }
    result.edges.push(edge);
  }
  addArguments(result, raw);
}

// What was asked for of a large result is forgotten when it has become much.
const mostOperators = 20_000;
export function forgetParts(result: Result): void {
  if (!result.overview || result.operators.length < mostOperators) return;
  const { firstBad } = result;
  result.operators = firstBad ? [firstBad] : [];
  result.byId = new Map(result.operators.map((op) => [op.id, op]));
  result.byName = new Map(result.operators.map((op) => [op.name, [op]]));
  for (const map of [result.bySlot, result.details, result.arguments]) map.clear();
  result.detailed.clear();
  result.edgeKeys.clear();
  result.edges = [];
}

type RawPoint = [number, number, Cell, number];
type RawLine = { rank: number; step: number; size: number; points: RawPoint[] };

const readLine = (line: RawLine, phases: [string, number][]): CurveLine => ({ ...line, points: line.points.map(([id, at, value, phase]) => ({ id, at, value: number(value), phase: phases[phase]?.[0] ?? '', name: '' })) });

// The curve of a large result between two positions.
export async function askCurve(result: Result, begin: number, end: number): Promise<CurveLine[]> {
  return ((await askServer('api/curve', { begin, end })) as unknown as RawLine[]).map((line) => readLine(line, result.overview?.phases ?? []));
}

// The name of an operator that may not have come.
const askedNames = new Map<number, string>();
export async function nameOf(result: Result, id: number): Promise<string> {
  const known = result.byId.get(id)?.name ?? askedNames.get(id);
  if (known !== undefined) return known;
  const name = String(await askServer('api/name', { id }));
  askedNames.set(id, name);
  return name;
}

function readOverview(raw: Raw): Overview | null {
  if (!raw.overview) return null;
  const given = raw.overview as Omit<Overview, 'lines'> & { lines: RawLine[] };
  return { ...given, lines: given.lines.map((line) => readLine(line, given.phases)) };
}

type RawRankRow = { name: string; step: number; collective: boolean; cells: [number, number, Cell][] };

const readRankRow = (row: RawRankRow): RankRow => ({ ...row, cells: row.cells.map(([rank, id, value]) => ({ rank, id, value: number(value) })) });

export function readResult(raw: Raw): Result {
  const result = emptyResult();
  result.is_comparison = raw.result.actual !== null && raw.result.actual !== undefined;
  result.about = raw.result;
  result.overview = readOverview(raw);
  result.rankRows = ((raw.rank_rows ?? []) as RawRankRow[]).map(readRankRow);
  addPart(result, raw);
  if (typeof raw.detailed === 'number') result.detailed.add(raw.detailed);
  result.sources = new Map(rows(raw, 'sources').map((row) => [`${text(row.file)}:${text(row.line)}`, text(row.text)]));
  result.runs = rows(raw, 'runs').map(runOf);
  result.remarks = rows(raw, 'remarks').map((row) => ({ kind: text(row.kind), text: text(row.text) }));
  result.deadUnits = rows(raw, 'dead_units').map((row) => ({ id: number(row.id), name: text(row.name), step: number(row.step), rank: number(row.rank), units: number(row.units), dead: number(row.dead) }));
  result.overflows = rows(raw, 'overflows').map((row) => ({ id: number(row.id), name: text(row.name), step: number(row.step), rank: number(row.rank), slot: number(row.slot), slotName: text(row.slot_name), dtype: text(row.dtype), infinities: number(row.inf_count), fullness: number(row.fullness) }));
  result.total = raw.total_operators;
  result.culprits = rows(raw, 'culprits').map((row) => ({ id: number(row.operator), name: text(row.name), step: number(row.step), rank: number(row.rank), slot: text(row.slot), cause: text(row.cause), confidence: text(row.confidence), removes: number(row.removes), text: text(row.text) }));
  result.firstBad = result.byId.get(result.culprits[0]?.id ?? NaN) ?? result.byId.get(number(raw.result.first_bad ?? null)) ?? null;
  const measured = result.operators.find((op) => op.slots.some((slot) => slot.side === 'output' && slot.statistics));
  result.firstShown = result.firstBad?.id ?? (typeof raw.detailed === 'number' ? raw.detailed : (measured ?? result.operators[0])?.id ?? 0);
  return result;
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

// What the server knows of a part of a result.
export async function askServer(path: string, parameters: Record<string, string | number>): Promise<Raw> {
  const answer = await fetch(serverUrl(path, parameters));
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return (await answer.json()) as Raw;
}

// An address of the server that serves this page.
export function serverUrl(path: string, parameters: Record<string, string | number>): string {
  const query = new URLSearchParams({ token: new URLSearchParams(location.search).get('token') ?? '' });
  for (const [key, value] of Object.entries(parameters)) query.set(key, String(value));
  return `${path}?${query.toString()}`;
}

export const isServed = (): boolean => (document.getElementById('data')?.textContent?.trim() ?? '') === '';
