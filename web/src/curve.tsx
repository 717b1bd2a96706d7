// Errors in the order of execution: one line for each step and rank.
import { useEffect } from 'preact/hooks';
import uPlot from 'uplot';
import type { Operator, Result } from './data';
import { colour, Section, useTheme, useWidth } from './common';
import { short } from './format';
import { errorOf } from './judge';
import { setView, useView } from './store';

const most = 8; // lines

interface Line { name: string; operators: Operator[]; values: number[]; worst: number }

function linesOf(result: Result, measure: (op: Operator) => number): Line[] {
  const groups = new Map<string, Operator[]>();
  const ranks = new Set(result.operators.map((op) => op.rank)).size;
  for (const op of result.operators) {
    const name = `${ranks > 1 ? `rank ${op.rank}, ` : ''}step ${op.step}`;
    groups.set(name, [...(groups.get(name) ?? []), op]);
  }
  const lines = [...groups].map(([name, operators]) => {
    const values = operators.map(measure);
    return { name, operators, values, worst: Math.max(0, ...values.filter((value) => !Number.isNaN(value))) };
  });
  if (lines.length <= most) return lines;
  const shown = new Set([...lines].sort((a, b) => b.worst - a.worst).slice(0, most));
  return lines.filter((line) => shown.has(line));
}

const phaseColour: Record<string, string> = { forward: 'band1', backward: 'band2', optimizer: 'band3' };

function paintBands(plot: uPlot, operators: Operator[]) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  for (let first = 0; first < operators.length;) {
    let last = first;
    while (last + 1 < operators.length && operators[last + 1].phase === operators[first].phase) ++last;
    const phase = operators[first].phase;
    const left = Math.max(bbox.left, plot.valToPos(first - 0.5, 'x', true)), right = Math.min(bbox.left + bbox.width, plot.valToPos(last + 0.5, 'x', true));
    if (phaseColour[phase] && right > left) {
      ctx.fillStyle = colour(phaseColour[phase]);
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      if (right - left > 70 * devicePixelRatio) {
        ctx.fillStyle = colour('soft');
        ctx.fillText(phase, left + 6 * devicePixelRatio, bbox.top + 14 * devicePixelRatio);
      }
    }
    first = last + 1;
  }
  ctx.restore();
}

function paintMarks(plot: uPlot, limit: number | null, limitName: string, pin: [number, number, string] | null) {
  const { ctx, bbox } = plot;
  const unit = devicePixelRatio;
  ctx.save();
  ctx.font = `600 ${11 * unit}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
  if (limit !== null) {
    const y = plot.valToPos(limit, 'y', true);
    ctx.strokeStyle = ctx.fillStyle = colour('bad');
    ctx.setLineDash([6 * unit, 4 * unit]);
    ctx.lineWidth = 1.5 * unit;
    ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
    ctx.setLineDash([]);
    const width = ctx.measureText(limitName).width;
    ctx.fillText(limitName, bbox.left + bbox.width - width - 6 * unit, y - 5 * unit);
  }
  if (pin) {
    const [x, y] = [plot.valToPos(pin[0], 'x', true), plot.valToPos(pin[1], 'y', true)];
    ctx.strokeStyle = ctx.fillStyle = colour('bad');
    ctx.lineWidth = 2 * unit;
    ctx.beginPath(); ctx.arc(x, y, 6 * unit, 0, 7); ctx.stroke();
    const text = pin[2], width = ctx.measureText(text).width;
    const left = Math.max(bbox.left + 4 * unit, Math.min(x - width / 2, bbox.left + bbox.width - width - 4 * unit));
    const above = y - 14 * unit > bbox.top + 22 * unit ? y - 12 * unit : y + 22 * unit;
    ctx.fillStyle = colour('card');
    ctx.fillRect(left - 3 * unit, above - 11 * unit, width + 6 * unit, 15 * unit);
    ctx.fillStyle = colour('bad');
    ctx.fillText(text, left, above);
  }
  ctx.restore();
}

const lineColours = ['line1', 'line2', 'line3', 'line4', 'line5', 'line6', 'line7', 'line8'];

export function Curve(props: {
  result: Result; title: string; hint: string; unit: string; measure?: (op: Operator) => number; floor?: number; withLimit: boolean;
}) {
  const view = useView();
  const theme = useTheme();
  const [holder, width] = useWidth<HTMLDivElement>();
  const measure = props.measure ?? errorOf;
  useEffect(() => {
    if (!holder.current || width < 50) return;
    const lines = linesOf(props.result, measure);
    const longest = lines.reduce((best, line) => (line.operators.length > best.operators.length ? line : best), lines[0]);
    if (!longest) return;
    const finite = lines.flatMap((line) => line.values.filter((value) => Number.isFinite(value) && value > 0));
    const floor = props.floor ?? 1e-3;
    const top = Math.max(10, ...finite) * 10;
    const plotted = (value: number) => (Number.isNaN(value) ? null : Math.min(top, Math.max(floor, value)));
    const columns = lines.map((line) => longest.operators.map((_, i) => (i < line.values.length ? plotted(line.values[i]) : null)));
    const pinned = props.result.byId.get(view.op) ?? props.result.firstBad;
    let pin: [number, number, string] | null = null;
    for (const line of lines) {
      const at = pinned ? line.operators.indexOf(pinned) : -1;
      if (at >= 0) pin = [at, plotted(line.values[at]) ?? floor, pinned!.name.split('/').slice(width < 500 ? -1 : -2).join('/')];
    }
    const limit = props.withLimit ? 10 ** view.tolerance : null;
    const axis = { stroke: colour('soft'), grid: { stroke: colour('line'), width: 1 }, ticks: { stroke: colour('line'), width: 1 }, font: '11px system-ui, sans-serif' };
    const plot = new uPlot({
      width, height: width < 500 ? 240 : 300, legend: { show: lines.length > 1, live: false },
      cursor: { focus: { prox: 30 }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { distr: 3, range: [floor / 2, top] } },
      axes: [
        { ...axis, label: 'order of execution', labelFont: '12px system-ui, sans-serif', labelSize: 22 },
        { ...axis, size: 56, label: props.unit, labelFont: '12px system-ui, sans-serif', labelSize: 20, splits: () => decades(floor, top, width < 500 ? 2 : 1), filter: (_: uPlot, ticks: number[]) => ticks, values: (_: uPlot, ticks: number[]) => ticks.map((tick) => `10${superscript(Math.round(Math.log10(tick)))}`) },
      ],
      series: [{ label: 'position' }, ...lines.map((line, i) => ({ label: line.name, stroke: colour(lineColours[i]), width: 1.75, points: { show: longest.operators.length < 120, size: 4, fill: colour(lineColours[i]) }, spanGaps: true }))],
      hooks: {
        drawClear: [(made: uPlot) => paintBands(made, longest.operators)],
        draw: [(made: uPlot) => paintMarks(made, limit, view.tolerance === 0 ? 'tolerance' : `tolerance × ${short(10 ** view.tolerance)}`, pin)],
        ready: [(made: uPlot) => made.over.addEventListener('click', () => {
          const at = made.cursor.idx;
          if (at === null || at === undefined) return;
          const y = made.posToVal(made.cursor.top ?? 0, 'y');
          const near = lines.filter((line) => at < line.operators.length)
            .sort((a, b) => Math.abs(Math.log((plotted(a.values[at]) ?? floor) / y)) - Math.abs(Math.log((plotted(b.values[at]) ?? floor) / y)))[0];
          if (near) setView({ op: near.operators[at].id, slot: 0 });
        })],
        setCursor: [(made: uPlot) => {
          const at = made.cursor.idx;
          const text = at === null || at === undefined ? '' : lines.filter((line) => at < line.values.length)
            .map((line) => `${line.operators[at].name} (${line.name}): ${Number.isNaN(line.values[at]) ? 'not measured' : short(line.values[at])}`)[0];
          made.root.parentElement?.parentElement?.querySelector('.readout')?.replaceChildren(text || ' ');
        }],
      },
    }, [longest.operators.map((_, i) => i), ...columns] as uPlot.AlignedData, holder.current);
    return () => plot.destroy();
  }, [props.result, width, theme, view.tolerance, view.op]);
  return (
    <Section id="curve" title={props.title} hint={props.hint}>
      <div ref={holder} class="plot" role="img" aria-label={`${props.title}. The table below has the same numbers.`} />
      <p class="readout soft" aria-hidden="true">&nbsp;</p>
    </Section>
  );
}

const decades = (low: number, high: number, every: number): number[] => {
  const first = Math.ceil(Math.log10(low) / every) * every;
  return Array.from({ length: Math.max(1, Math.floor((Math.log10(high) - first) / every) + 1) }, (_, i) => 10 ** (first + i * every));
};

const superscript = (power: number): string => String(power).replace(/[-\d]/g, (c) => (c === '-' ? '⁻' : '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)]));
