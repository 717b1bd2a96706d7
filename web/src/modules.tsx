// Modules by step: the worst error of each. A module opens to those within it.
import { useMemo, useState } from 'preact/hooks';
import type { Operator, Result } from './data';
import { heat, heatInk, Section, useTheme } from './common';
import { short } from './format';
import { errorOf, hasNan, judge, wordOf } from './judge';
import { setView, useView } from './store';

interface Module { path: string; name: string; depth: number; children: Module[]; operators: Operator[] }

function treeOf(operators: Operator[]): Module {
  const root: Module = { path: '', name: '', depth: -1, children: [], operators };
  const known = new Map<string, Module>([['', root]]);
  const find = (path: string): Module => {
    const found = known.get(path);
    if (found) return found;
    const at = path.lastIndexOf('/');
    const parent = find(at < 0 ? '' : path.slice(0, at));
    const made = { path, name: path.slice(at + 1), depth: parent.depth + 1, children: [], operators: [] };
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

function rowsOf(module: Module, open: Set<string>): Module[] {
  return module.children.flatMap((child) => [child, ...(open.has(child.path) ? rowsOf(child, open) : [])]);
}

const isNan = (value: number, op: Operator | null): boolean => value === Infinity && (op === null || hasNan(op) || op.verdict === '');

const cellClass = (worst: number, missing: boolean, nan: boolean): string =>
  nan ? 'cell nan' : missing && Number.isNaN(worst) ? 'cell hatched' : 'cell';

export function Modules(props: { result: Result; title: string; hint: string; measure?: (op: Operator) => number; range?: [number, number] }) {
  const { result } = props;
  const view = useView();
  const theme = useTheme();
  const measure = props.measure ?? errorOf;
  const tree = useMemo(() => treeOf(result.operators), [result]);
  const [open, setOpen] = useState(() => {
    const first = new Set(tree.children.map((child) => child.path));
    for (let path = result.firstBad?.module ?? ''; path.includes('/'); path = path.slice(0, path.lastIndexOf('/'))) first.add(path.slice(0, path.lastIndexOf('/')));
    return first;
  });
  const steps = useMemo(() => [...new Set(result.operators.map((op) => op.step))].sort((a, b) => a - b), [result]);
  const all = useMemo(() => result.operators.map(measure).filter((value) => Number.isFinite(value) && value > 0), [result]);
  const [low, high] = props.range ?? [1, Math.max(10, all.reduce((a, b) => Math.max(a, b), 0))];
  const share = (value: number) => (Number.isNaN(value) || value <= 0 ? 0 : Math.log(value / low) / Math.log(high / low));
  const toggle = (path: string) => setOpen((was) => { const now = new Set(was); if (!now.delete(path)) now.add(path); return now; });
  const rows = rowsOf(tree, open).slice(0, 600);
  return (
    <Section id="modules" title={props.title} hint={props.hint}>
      <div class="scroll tall" tabIndex={0} role="region" aria-label={props.title}>
        <table class="heat" role="treegrid" aria-label={props.title}>
          <thead><tr><th scope="col">module</th>{steps.map((step) => <th scope="col" key={step} class="number">step {step}</th>)}</tr></thead>
          <tbody>
            {rows.map((module) => {
              const name = module.path.split('/').at(-1) ?? '';
              const isOpen = open.has(module.path);
              return (
                <tr key={module.path} aria-level={module.depth + 1} aria-expanded={module.children.length > 0 ? isOpen : undefined} class={view.module === module.path ? 'chosen' : ''}>
                  <th scope="row"><span class={`indent d${Math.min(8, module.depth)}`} />
                    {module.children.length > 0
                      ? <button type="button" class="twig" aria-expanded={isOpen} aria-label={`${isOpen ? 'Close' : 'Open'} ${module.path}`} onClick={() => toggle(module.path)}>{isOpen ? '▾' : '▸'}</button>
                      : <span class="twig" />}
                    <span title={module.path}>{name}</span></th>
                  {steps.map((step) => {
                    const here = module.operators.filter((op) => op.step === step);
                    if (here.length === 0) return <td key={step} class="cell none"><span class="unseen">not executed</span></td>;
                    let worst = NaN;
                    let at: Operator | null = null;
                    for (const op of here) { const value = measure(op); if (!Number.isNaN(value) && !(value <= worst)) { worst = value; at = op; } }
                    const missing = here.some((op) => op.verdict === 'missing' || op.verdict === 'extra');
                    const label = Number.isNaN(worst) ? (missing ? 'missing' : 'not measured') : short(worst);
                    const background = isNan(worst, at) || Number.isNaN(worst) ? undefined : heat(share(worst), theme);
                    return (
                      <td key={step} class={cellClass(worst, missing, isNan(worst, at))}>
                        <button type="button" ref={(element) => { if (element) { element.style.background = background ?? ''; element.style.color = background ? heatInk(share(worst), theme) : ''; } }}
                          aria-label={`${module.path}, step ${step}: ${label}${at && result.is_comparison ? `, ${wordOf(judge(at, view.tolerance))}` : ''}`}
                          onClick={() => { setView({ module: module.path, step: String(step), ...(at ? { op: at.id, slot: 0 } : {}) }); }}>{label === 'missing' || label === 'not measured' ? '' : isNan(worst, at) ? 'NaN/Inf' : worst === Infinity ? 'not equal' : label}</button>
                      </td>
                    );
                  })}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </Section>
  );
}
