// Who gives the operator its tensors, and who reads what it makes: some hops of the graph.
import { Graph as DagreGraph, layout } from '@dagrejs/dagre';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import type { Edge, Operator, Result } from './data';
import { InShell, Section } from './common';
import { middle, nameParts, shellText, short } from './format';
import { errorOf, judge, toneOf, wordOf } from './judge';
import { setView, useView } from './store';

const mostNodes = 26;
const mostReaders = 5; // of one tensor
const hops = 2;

interface Box { name: string; kind: string; operator: Operator | null }
interface Near { boxes: Map<string, Box>; edges: Edge[]; leftOut: number }

// The same execution of another operator: its rank and step.
function peer(result: Result, name: string, of: Operator): Operator | null {
  return result.byName.get(name)?.find((op) => op.step === of.step && op.rank === of.rank) ?? null;
}

function neighbourhood(result: Result, side: string, centre: Operator): Near {
  const name = side === 'actual' && centre.actualName ? centre.actualName : centre.name;
  const ours = result.edges.filter((edge) => edge.side === side && edge.rank === centre.rank);
  const graphs = new Set(ours.filter((edge) => edge.consumer === name || edge.producer === name).map((edge) => edge.graph));
  const graph = graphs.has(centre.graph) ? centre.graph : [...graphs][0];
  const edges = ours.filter((edge) => edge.graph === graph);
  const boxes = new Map<string, Box>();
  const shown = new Set<Edge>();
  let leftOut = 0;
  const add = (key: string, box: Box): boolean => {
    if (boxes.has(key)) return true;
    if (boxes.size >= mostNodes) { ++leftOut; return false; }
    boxes.set(key, box);
    return true;
  };
  if (edges.length === 0) return { boxes, edges: [], leftOut };
  add(name, { name, kind: 'operator', operator: centre });
  let frontier = [name];
  for (let hop = 0; hop < hops; ++hop) {
    const next: string[] = [];
    for (const at of frontier) {
      let readers = 0;
      for (const edge of edges) {
        if (edge.consumer !== at && edge.producer !== at) continue;
        const isInput = edge.consumer === at;
        if (!isInput && edge.producerKind !== 'operator') continue;
        const key = isInput ? (edge.producerKind === 'operator' ? edge.producer : `${edge.producerKind} ${edge.producer}`) : edge.consumer;
        if (!isInput && !boxes.has(key) && ++readers > mostReaders) { ++leftOut; continue; }
        const isNew = !boxes.has(key);
        const kind = isInput ? edge.producerKind : 'operator';
        if (!add(key, { name: isInput ? edge.producer : edge.consumer, kind, operator: kind === 'operator' ? peer(result, isInput ? edge.producer : edge.consumer, centre) : null })) continue;
        shown.add(edge);
        if (isNew && kind === 'operator') next.push(key);
      }
    }
    frontier = next;
  }
  return { boxes, edges: [...shown], leftOut };
}

const keyOf = (edge: Edge): string => (edge.producerKind === 'operator' ? edge.producer : `${edge.producerKind} ${edge.producer}`);
const signature = (near: Near): string => JSON.stringify(near.edges.map((edge) => [keyOf(edge), edge.output, edge.consumer, edge.input]).sort());

function slotError(result: Result, edge: Edge, centre: Operator): number {
  const op = peer(result, edge.consumer, centre);
  return op?.slots.find((slot) => slot.side === 'input' && slot.name.startsWith('input') && op.slots.filter((s) => s.side === 'input').indexOf(slot) === edge.input)?.scaled ?? NaN;
}

const boxWidth = 168, boxHeight = 40;

function Picture({ near, result, centre, label }: { near: Near; result: Result; centre: Operator; label: string }) {
  const view = useView('tolerance'), arrow = useId();
  const made = useMemo(() => {
    const graph = new DagreGraph({ multigraph: true });
    graph.setGraph({ rankdir: 'TB', nodesep: 18, ranksep: 44, marginx: 8, marginy: 8 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const key of near.boxes.keys()) graph.setNode(key, { width: boxWidth, height: boxHeight });
    near.edges.forEach((edge, i) => { graph.setEdge(keyOf(edge), edge.consumer, { width: 70, height: 12, labelpos: 'c', number: i }, String(i)); });
    layout(graph);
    return graph;
  }, [near]);
  const size = made.graph() as { width?: number; height?: number };
  const holder = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const at = made.nodes().find((key) => near.boxes.get(key)?.operator?.id === centre.id);
    if (!at || !holder.current) return;
    const { x, y } = made.node(at) as { x: number; y: number };
    const scale = (holder.current.querySelector('svg')?.getBoundingClientRect().width ?? 1) / (size.width ?? 1);
    holder.current.scrollTo(x * scale - holder.current.clientWidth / 2, y * scale - holder.current.clientHeight / 2);
  }, [made]);
  return (
    <div class="scroll graphbox" ref={holder} tabIndex={0} role="region" aria-label={label}>
      <svg class="graph" viewBox={`0 0 ${size.width ?? 1} ${size.height ?? 1}`} width={size.width} height={size.height} role="group" aria-label={label}>
        <defs><marker id={arrow} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8Z" class="arrow" /></marker></defs>
        {made.edges().map((id) => {
          const { points, x, y, number: i } = made.edge(id) as { points: { x: number; y: number }[]; x?: number; y?: number; number: number };
          const edge = near.edges[i];
          const error = slotError(result, edge, centre);
          const differs = error > 10 ** view.tolerance;
          const text = edge.shape === '()' ? edge.dtype : edge.shape;
          return (
            <g key={id.name} class={differs ? 'edge differs' : 'edge'}>
              <title>{`${edge.producer} → ${edge.consumer} input.${edge.input}: ${edge.dtype} ${edge.shape}${Number.isNaN(error) ? '' : `, error ${short(error)} × tolerance`}`}</title>
              <path d={points.map((point, j) => `${j === 0 ? 'M' : 'L'}${point.x.toFixed(1)} ${point.y.toFixed(1)}`).join(' ')} marker-end={`url(#${arrow})`} />
              {x !== undefined && y !== undefined && <text x={x} y={y + 3}>{middle(text, 16)}</text>}
            </g>
          );
        })}
        {made.nodes().map((key) => {
          const box = near.boxes.get(key)!;
          const { x, y } = made.node(key) as { x: number; y: number };
          const op = box.operator;
          const verdict = op ? judge(op, view.tolerance) : '';
          const [module, operator] = nameParts(box.name);
          const choose = () => op && setView({ op: op.id, slot: 0 });
          const isCentre = op !== null && op.id === centre.id;
          return (
            <g key={key} transform={`translate(${x - boxWidth / 2} ${y - boxHeight / 2})`} class={`box ${op && result.is_comparison ? toneOf(verdict) : 'quiet'} ${box.kind === 'operator' ? '' : 'leaf'} ${isCentre ? 'centre' : ''}`}
              role={op ? 'button' : 'img'} tabindex={op ? 0 : -1}
              onClick={choose} onKeyDown={(event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); choose(); } }}>
              <title>{`${box.kind === 'operator' ? '' : `${box.kind} `}${box.name}${verdict ? `, ${wordOf(verdict)}` : ''}${op && !Number.isNaN(errorOf(op)) ? `\nerror ${short(errorOf(op))} × tolerance` : ''}`}</title>
              <rect width={boxWidth} height={boxHeight} rx={box.kind === 'operator' ? 6 : 20} />
              <text aria-hidden="true" class="main" x={boxWidth / 2} y={box.kind === 'operator' && module ? 17 : 24}>{middle(operator, 24)}</text>
              {box.kind === 'operator' && module && <text aria-hidden="true" class="sub" x={boxWidth / 2} y={32}>{middle(module.replace(/\/$/, '').split('/').at(-1) ?? '', 26)}</text>}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

// Its layout is computed after the operator itself has been drawn.
function useLater<T>(value: T): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    let timer = 0;
    const frame = requestAnimationFrame(() => { timer = setTimeout(() => setLater(value)); });
    return () => { cancelAnimationFrame(frame); clearTimeout(timer); };
  }, [value]);
  return later;
}

export function LocalGraph({ result, op: wanted }: { result: Result; op: Operator | null }) {
  const op = useLater(wanted);
  const near = useMemo(() => (op ? ['golden', 'actual'].map((side) => neighbourhood(result, side, op)) : []), [result, op]);
  if (!op) return null;
  const [golden, actual] = near;
  const known = near.filter((side) => side.boxes.size > 0);
  const areSame = golden.boxes.size > 0 && actual.boxes.size > 0 && signature(golden) === signature(actual);
  return (
    <Section id="graph" title="Around the operator" hint={known.length === 0 ? undefined : `Two hops before and behind it${areSame && result.is_comparison ? ', the same in both runs' : ''}.${result.is_comparison ? ' Red edges carry tensors that differ.' : ''}`}>
      {known.length === 0 && <p class="empty">{result.edges.length === 0 ? 'The dumps have no graphs.' : 'The graphs do not have this operator.'}</p>}
      {known.length > 0 && (areSame || known.length === 1
        ? <Picture near={known[0]} result={result} centre={op} label={`Graph around ${op.name}`} />
        : <div class="sides">{near.map((side, i) => side.boxes.size > 0 && <figure key={i}><figcaption>{['golden', 'actual'][i]}</figcaption><Picture near={side} result={result} centre={op} label={`${['golden', 'actual'][i]}: graph around ${op.name}`} /></figure>)}</div>)}
      {known.some((side) => side.leftOut > 0) && <p class="hint">Only the first readers of a tensor are drawn, and at most {mostNodes} boxes.</p>}
      {known.length > 0 && <InShell result={result} verb="ir" options={`--op ${shellText(op.name)}`} side={golden.boxes.size > 0 ? 'golden' : 'actual'} />}
    </Section>
  );
}
