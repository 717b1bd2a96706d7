// Errors in the order of execution: one line for each step and rank.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { askCurve, nameOf, type CurveLine, type Operator, type Point, type Result } from './data';
import { colour, InShell, Section, useTheme, useWidth } from './common';
import { short } from './format';
import { errorOf } from './judge';
import type { Box } from './labels';
import { paintBands, paintMarks, type Pin } from './marks';
import { setView, useView } from './store';

const most = 8; // lines

interface Line { name: string; points: Point[]; worst: number }

const mostPoints = 2000;

// Of operators that share a point the worst is shown.
function pointsOf(operators: Operator[], measure: (op: Operator) => number): Point[] {
  const points: Point[] = [];
  const all = operators.length, count = Math.min(all, mostPoints);
  for (let i = 0; i < count; ++i) {
    let at = Math.floor((i * all) / count), value = measure(operators[at]);
    for (let j = at + 1; j < Math.floor(((i + 1) * all) / count); ++j) {
      const other = measure(operators[j]);
      if (!Number.isNaN(other) && !(other <= value)) { at = j; value = other; }
    }
    const op = operators[at];
    points.push({ id: op.id, at, value, phase: op.phase, name: op.name });
  }
  return points;
}

const lineOf = (name: string, points: Point[]): Line => ({ name, points, worst: points.reduce((worst, point) => (point.value > worst ? point.value : worst), 0) });

// `closer`: what the server has sent of a part of the curve.
function linesOf(result: Result, measure: (op: Operator) => number, closer: CurveLine[] | null): Line[] {
  const nameOf = (ranks: number, rank: number, step: number) => `${ranks > 1 ? `rank ${rank}, ` : ''}step ${step}`;
  if (result.overview) return (closer ?? result.overview.lines).map((line) => lineOf(nameOf(result.overview!.ranks.length, line.rank, line.step), line.points));
  const groups = new Map<string, Operator[]>();
  const ranks = new Set(result.operators.map((op) => op.rank)).size;
  for (const op of result.operators) {
    const name = nameOf(ranks, op.rank, op.step);
    const group = groups.get(name);
    if (group) group.push(op);
    else groups.set(name, [op]);
  }
  const lines = [...groups].map(([name, operators]) => lineOf(name, pointsOf(operators, measure)));
  if (lines.length <= most) return lines;
  const shown = new Set([...lines].sort((a, b) => b.worst - a.worst).slice(0, most));
  return lines.filter((line) => shown.has(line));
}

const lineColours = ['line1', 'line2', 'line3', 'line4', 'line5', 'line6', 'line7', 'line8'];

export function Curve(props: {
  result: Result; title: string; hint: string; unit: string; measure?: (op: Operator) => number; floor?: number; withLimit: boolean;
}) {
  const view = useView('op', 'tolerance');
  const theme = useTheme();
  const [holder, width] = useWidth<HTMLDivElement>();
  const measure = props.measure ?? errorOf;
  const plotted = useRef<uPlot | null>(null);
  const marks = useRef<{ op: number; tolerance: number }>(view);
  const [closer, setCloser] = useState<CurveLine[] | null>(null);
  useEffect(() => {
    marks.current = view;
    plotted.current?.redraw(false);
  }, [view]);
  useLayoutEffect(() => {
    if (!holder.current || width < 50) return;
    const { overview } = props.result;
    const lines = linesOf(props.result, measure, closer);
    const longest = lines.reduce((best, line) => ((line.points.at(-1)?.at ?? 0) > (best.points.at(-1)?.at ?? 0) ? line : best), lines[0]);
    if (!longest) return;
    const finite = lines.flatMap((line) => line.points.map((point) => point.value).filter((value) => Number.isFinite(value) && value > 0));
    const floor = props.floor ?? 1e-3;
    const top = Math.max(10, ...finite) * 10;
    const clamped = (value: number) => (Number.isNaN(value) ? null : Math.min(top, Math.max(floor, value)));
    const columns = lines.map((line) => longest.points.map((_, i) => (i < line.points.length ? clamped(line.points[i].value) : null)));
    const pinOf = (id: number): Pin | null => {
      for (const line of lines) {
        const at = line.points.findIndex((one) => one.id === id);
        if (at >= 0) return { x: longest.points[at].at, y: clamped(line.points[at].value) ?? floor, name: (line.points[at].name || (props.result.byId.get(id)?.name ?? '')).split('/').slice(width < 500 ? -1 : -2).join('/') };
      }
      return null;
    };
    let phases: Box[] = [];
    let asking: ReturnType<typeof setTimeout> | undefined;
    const paint = (made: uPlot) => {
      const { op, tolerance } = marks.current;
      const limit = { value: 10 ** tolerance, name: tolerance === 0 ? 'tolerance' : `tolerance × ${short(10 ** tolerance)}` };
      paintMarks(made, props.withLimit ? limit : null, pinOf(op || (props.result.firstBad?.id ?? 0)), phases);
    };
    // Of a large result, a part that was chosen with the mouse is asked for; the whole curve has only its worst.
    const look = async (made: uPlot) => {
      if (!overview || made.select.width < 2) return;
      const [begin, end] = [made.posToVal(made.select.left, 'x'), made.posToVal(made.select.left + made.select.width, 'x')];
      setCloser(await askCurve(props.result, Math.max(0, Math.floor(begin)), Math.ceil(end) + 1).catch(() => null));
    };
    const axis = { stroke: colour('soft'), grid: { stroke: colour('line'), width: 1 }, ticks: { stroke: colour('line'), width: 1 }, font: '11px system-ui, sans-serif' };
    const plot = new uPlot({
      width, height: width < 500 ? 240 : 300, legend: { show: lines.length > 1, live: false },
      cursor: { focus: { prox: 30 }, drag: { x: true, y: false, setScale: !overview } },
      scales: { x: { time: false }, y: { distr: 3, range: [floor / 2, top] } },
      axes: [
        { ...axis, label: 'order of execution', labelFont: '12px system-ui, sans-serif', labelSize: 22 },
        { ...axis, size: 56, label: props.unit, labelFont: '12px system-ui, sans-serif', labelSize: 20, splits: () => decades(floor, top, width < 500 ? 2 : 1), filter: (_: uPlot, ticks: number[]) => ticks, values: (_: uPlot, ticks: number[]) => ticks.map((tick) => `10${superscript(Math.round(Math.log10(tick)))}`) },
      ],
      series: [{ label: 'position' }, ...lines.map((line, i) => ({ label: line.name, stroke: colour(lineColours[i]), width: 1.75, points: { show: longest.points.length < 120, size: 4, fill: colour(lineColours[i]) }, spanGaps: true }))],
      hooks: {
        drawClear: [(made: uPlot) => { phases = paintBands(made, longest.points); }],
        draw: [paint],
        setSelect: [(made: uPlot) => void look(made)],
        ready: [(made: uPlot) => {
          made.over.addEventListener('dblclick', () => setCloser(null));
          made.over.addEventListener('click', () => {
          const at = made.cursor.idx;
          if (at === null || at === undefined) return;
          const y = made.posToVal(made.cursor.top ?? 0, 'y');
          const near = lines.filter((line) => at < line.points.length)
            .sort((a, b) => Math.abs(Math.log((clamped(a.points[at].value) ?? floor) / y)) - Math.abs(Math.log((clamped(b.points[at].value) ?? floor) / y)))[0];
          if (near) setView({ op: near.points[at].id, slot: 0 });
          });
        }],
        setCursor: [(made: uPlot) => {
          const at = made.cursor.idx;
          const readout = made.root.parentElement?.parentElement?.querySelector('.readout');
          const line = at === null || at === undefined ? undefined : lines.find((one) => at < one.points.length);
          if (!readout || !line) { readout?.replaceChildren('\u00a0'); return; }
          const point = line.points[at!];
          const say = (name: string) => readout.replaceChildren(`${name} (${line.name}): ${Number.isNaN(point.value) ? 'not measured' : short(point.value)}`);
          say(point.name);
          clearTimeout(asking);
          if (!point.name) asking = setTimeout(() => void nameOf(props.result, point.id).then((name) => { if (made.cursor.idx === at) say(name); }, () => undefined), 60);
        }],
      },
    }, [longest.points.map((point) => point.at), ...columns] as uPlot.AlignedData, holder.current);
    plotted.current = plot;
    return () => { plot.destroy(); plotted.current = null; };
  }, [props.result, width, theme, closer]);
  return (
    <Section id="curve" title={props.title} hint={props.hint}>
      <div ref={holder} class="plot" role="img" aria-label={`${props.title}. The table below has the same numbers.`} />
      <p class="readout soft" aria-hidden="true">&nbsp;</p>
      {closer && <button type="button" class="small" onClick={() => setCloser(null)}>All of the curve</button>}
      <InShell result={props.result} {...(props.result.is_comparison ? { verb: 'compare', options: '--sort error' } : { verb: 'ls', options: '--nan' })} />
    </Section>
  );
}

const decades = (low: number, high: number, every: number): number[] => {
  const first = Math.ceil(Math.log10(low) / every) * every;
  return Array.from({ length: Math.max(1, Math.floor((Math.log10(high) - first) / every) + 1) }, (_, i) => 10 ** (first + i * every));
};

const superscript = (power: number): string => String(power).replace(/[-\d]/g, (c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)]));
