// Modules by step: the worst error of each. A module opens to those within it.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { askServer, number, type Cell, type Operator, type Result } from './data';
import { heat, heatInk, InShell, Section, useTheme } from './common';
import { short } from './format';
import { errorOf, hasNan, judge, wordOf } from './judge';
import { setView, useView } from './store';

const mostSteps = 60; // columns
const rowHeight = 30; // as in style.css, with the gap between rows
const spare = 6; // rows drawn above and below those in view

interface ModuleCell { worst: number; id: number; missing: boolean; nan: boolean }
interface Module { path: string; depth: number; hasChildren: boolean; children: Module[] | null; cells: Map<number, ModuleCell> }

interface Node { path: string; depth: number; children: Node[]; operators: Operator[] }

function treeOf(operators: Operator[]): Node {
  const root: Node = { path: '', depth: -1, children: [], operators };
  const known = new Map<string, Node>([['', root]]);
  const find = (path: string): Node => {
    const found = known.get(path);
    if (found) return found;
    const at = path.lastIndexOf('/');
    const parent = find(at < 0 ? '' : path.slice(0, at));
    const made = { path, depth: parent.depth + 1, children: [], operators: [] };
    parent.children.push(made);
    known.set(path, made);
    return made;
  };
  for (const op of operators) {
    for (let path = op.module; path !== ''; path = path.slice(0, Math.max(0, path.lastIndexOf('/')))) find(path).operators.push(op);
    if (op.module === '') find('(no module)').operators.push(op);
  }
  return root;
}

// The worst operator of each step.
function summedUp(node: Node, measure: (op: Operator) => number): Module {
  const cells = new Map<number, ModuleCell>();
  for (const op of node.operators) {
    const value = measure(op);
    const cell = cells.get(op.step) ?? { worst: NaN, id: op.id, missing: false, nan: false };
    if (!Number.isNaN(value) && !(value <= cell.worst)) { cell.worst = value; cell.id = op.id; cell.nan = value === Infinity && (hasNan(op) || op.verdict === ''); }
    cell.missing ||= op.verdict === 'missing' || op.verdict === 'extra';
    cells.set(op.step, cell);
  }
  return { path: node.path, depth: node.depth, hasChildren: node.children.length > 0, children: node.children.map((child) => summedUp(child, measure)), cells };
}

type AskedModule = { path: string; has_children: boolean; cells: [number, Cell, number, boolean, boolean][] };

async function askModules(within: string, depth: number): Promise<Module[]> {
  const list = (await askServer('api/modules', { within })) as unknown as AskedModule[];
  return list.map((one) => ({
    path: one.path, depth, hasChildren: one.has_children, children: null,
    cells: new Map(one.cells.map(([step, worst, id, missing, nan]) => [step, { worst: number(worst), id, missing, nan }])),
  }));
}

function rowsOf(module: Module, open: Set<string>): Module[] {
  return (module.children ?? []).flatMap((child) => [child, ...(open.has(child.path) ? rowsOf(child, open) : [])]);
}

// The modules of the result; what the server has to be asked for comes when a module opens.
function useModules(result: Result, open: Set<string>, measure: (op: Operator) => number): Module {
  const [root, setRoot] = useState<Module>(() => (result.overview ? { path: '', depth: -1, hasChildren: true, children: null, cells: new Map() } : summedUp(treeOf(result.operators), measure)));
  useEffect(() => {
    let isCurrent = true;
    const missing: Module[] = [];
    const look = (module: Module) => {
      if (module.children === null) missing.push(module);
      else for (const child of module.children) if (child.hasChildren && open.has(child.path)) look(child);
    };
    look(root);
    if (missing.length === 0) return undefined;
    Promise.all(missing.map(async (module) => { module.children = await askModules(module.path, module.depth + 1); }))
      .then(() => isCurrent && setRoot({ ...root }), () => undefined);
    return () => { isCurrent = false; };
  }, [root, open]);
  return root;
}

// The rows of a list that are in view, and the element that scrolls.
function useRowsInView(count: number): [{ current: HTMLDivElement | null }, [number, number]] {
  const holder = useRef<HTMLDivElement>(null);
  const [range, setRange] = useState<[number, number]>([0, 24]);
  useLayoutEffect(() => {
    const element = holder.current;
    if (!element) return undefined;
    const look = () => {
      const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - spare), last = first + Math.ceil(element.clientHeight / rowHeight) + 2 * spare;
      setRange((was) => (was[0] === first && was[1] === last ? was : [first, last]));
    };
    const all = () => setRange([0, Infinity]);
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener('scroll', look, { passive: true });
    addEventListener('beforeprint', all); addEventListener('afterprint', look);
    return () => { observer.disconnect(); element.removeEventListener('scroll', look); removeEventListener('beforeprint', all); removeEventListener('afterprint', look); };
  }, []);
  const first = Math.min(range[0], Math.max(0, count - 1));
  return [holder, [first, Math.min(count, range[1])]];
}

// The place of rows that are not drawn.
const Gap = ({ rows }: { rows: number }) => (rows > 0 ? <tr class="gap" aria-hidden="true"><td ref={(element) => { if (element) element.style.height = `${rows * rowHeight - 2}px`; }} /></tr> : null);

const cellClass = (worst: number, missing: boolean, nan: boolean): string =>
  nan ? 'cell nan' : missing && Number.isNaN(worst) ? 'cell hatched' : 'cell';

export function Modules(props: { result: Result; title: string; hint: string; measure?: (op: Operator) => number; range?: [number, number] }) {
  const { result } = props;
  const view = useView('module', 'tolerance');
  const theme = useTheme();
  const measure = props.measure ?? errorOf;
  const [open, setOpen] = useState(() => {
    const first = new Set(result.overview ? [] : treeOf(result.operators).children.map((child) => child.path));
    for (let path = result.firstBad?.module ?? ''; path.includes('/'); path = path.slice(0, path.lastIndexOf('/'))) first.add(path.slice(0, path.lastIndexOf('/')));
    return first;
  });
  const tree = useModules(result, open, measure);
  const steps = useMemo(() => (result.overview ? result.overview.steps.map(([step]) => step) : [...new Set(result.operators.map((op) => op.step))]).sort((a, b) => a - b).slice(0, mostSteps), [result]);
  const rows = useMemo(() => rowsOf(tree, open), [tree, open]);
  const [holder, [first, last]] = useRowsInView(rows.length);
  const largest = rows.reduce((most, row) => { for (const { worst } of row.cells.values()) if (Number.isFinite(worst) && worst > most) most = worst; return most; }, 0);
  const [low, high] = props.range ?? [1, Math.max(10, largest)];
  const share = (value: number) => (Number.isNaN(value) || value <= 0 ? 0 : Math.log(value / low) / Math.log(high / low));
  const toggle = (path: string) => setOpen((was) => { const now = new Set(was); if (!now.delete(path)) now.add(path); return now; });
  return (
    <Section id="modules" title={props.title} hint={props.hint}>
      <div class="scroll tall" ref={holder} tabIndex={0} role="region" aria-label={props.title}>
        <table class="heat" role="treegrid" aria-label={props.title} aria-rowcount={rows.length + 1}>
          <thead><tr><th scope="col">module</th>{steps.map((step) => <th scope="col" key={step} class="number">step {step}</th>)}</tr></thead>
          <tbody>
            <Gap rows={first} />
            {rows.slice(first, last).map((module, i) => {
              const name = module.path.split('/').at(-1) ?? '';
              const isOpen = open.has(module.path);
              return (
                <tr key={module.path} aria-rowindex={first + i + 2} aria-level={module.depth + 1} aria-expanded={module.hasChildren ? isOpen : undefined} class={view.module === module.path ? 'chosen' : ''}>
                  <th scope="row"><span class={`indent d${Math.min(8, module.depth)}`} />
                    {module.hasChildren
                      ? <button type="button" class="twig" aria-expanded={isOpen} aria-label={`${isOpen ? 'Close' : 'Open'} ${module.path}`} onClick={() => toggle(module.path)}>{isOpen ? '▾' : '▸'}</button>
                      : <span class="twig" />}
                    <span title={module.path}>{name}</span></th>
                  {steps.map((step) => {
                    const cell = module.cells.get(step);
                    if (!cell) return <td key={step} class="cell none"><span class="unseen">not executed</span></td>;
                    const { worst, missing, nan } = cell;
                    const verdict = result.byId.get(cell.id);
                    const label = nan ? 'NaN/Inf' : worst === Infinity ? 'not equal' : Number.isNaN(worst) ? (missing ? 'missing' : 'not measured') : short(worst);
                    const background = nan || Number.isNaN(worst) ? undefined : heat(share(worst), theme);
                    return (
                      <td key={step} class={cellClass(worst, missing, nan)}>
                        <button type="button" ref={(element) => { if (element) { element.style.background = background ?? ''; element.style.color = background ? heatInk(share(worst), theme) : ''; } }}
                          aria-label={`${module.path}, step ${step}: ${label}${verdict && result.is_comparison ? `, ${wordOf(judge(verdict, view.tolerance))}` : ''}`}
                          onClick={() => { setView({ module: module.path, step: String(step), op: cell.id, slot: 0 }); }}>{label === 'missing' || label === 'not measured' ? '' : label}</button>
                      </td>
                    );
                  })}
                </tr>
              );
            })}
            <Gap rows={rows.length - last} />
          </tbody>
        </table>
      </div>
      <InShell result={result} {...(result.is_comparison ? { verb: 'compare', options: '--stat' } : { verb: 'ls', options: '--tree' })} />
    </Section>
  );
}
