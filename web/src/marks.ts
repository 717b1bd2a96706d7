// What the curve has besides its lines: the phases behind them, the tolerance, and the operator that is looked at.
import type uPlot from 'uplot';
import { colour } from './common';
import type { Point } from './data';
import { type Box, place, placesAlong, placesAround, type Stroke } from './labels';

export interface Pin { x: number; y: number; name: string }
export interface Limit { value: number; name: string }

const phaseColour: Record<string, string> = { forward: 'band1', backward: 'band2', optimizer: 'band3' };

const frameOf = ({ bbox }: uPlot): Box => ({ left: bbox.left, top: bbox.top, right: bbox.left + bbox.width, bottom: bbox.top + bbox.height });

function begin(ctx: CanvasRenderingContext2D, weight: string) {
  ctx.save();
  ctx.font = `${weight}${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'alphabetic';
}

// Where the names of the phases stand.
export function paintBands(plot: uPlot, points: Point[]): Box[] {
  const { ctx, bbox } = plot;
  const unit = devicePixelRatio, names: Box[] = [];
  begin(ctx, '');
  for (let first = 0; first < points.length;) {
    let last = first;
    while (last + 1 < points.length && points[last + 1].phase === points[first].phase) ++last;
    const phase = points[first].phase;
    const left = Math.max(bbox.left, plot.valToPos(points[first].at - 0.5, 'x', true)), right = Math.min(bbox.left + bbox.width, plot.valToPos((points[last + 1]?.at ?? points[last].at + 1) - 0.5, 'x', true));
    if (phaseColour[phase] && right > left) {
      ctx.fillStyle = colour(phaseColour[phase]);
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      if (right - left > 70 * unit) {
        ctx.fillStyle = colour('soft');
        ctx.fillText(phase, left + 6 * unit, bbox.top + 14 * unit);
        names.push({ left: left + 4 * unit, top: bbox.top, right: left + 8 * unit + ctx.measureText(phase).width, bottom: bbox.top + 19 * unit });
      }
    }
    first = last + 1;
  }
  ctx.restore();
  return names;
}

function strokesOf(plot: uPlot): Stroke[] {
  const [xs, ...lines] = plot.data;
  return lines.flatMap((ys) => {
    const at = [...ys.keys()].filter((i) => ys[i] !== null && ys[i] !== undefined).map((i) => [plot.valToPos(xs[i], 'x', true), plot.valToPos(ys[i] as number, 'y', true)]);
    return at.slice(1).map(([x, y], i): Stroke => [...(at[i] as [number, number]), x, y]);
  });
}

// What is below a label stays to be seen.
function write(ctx: CanvasRenderingContext2D, text: string, box: Box) {
  const unit = devicePixelRatio;
  ctx.fillStyle = colour('card');
  ctx.globalAlpha = 0.7;
  ctx.fillRect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  ctx.globalAlpha = 1;
  ctx.fillStyle = colour('bad');
  ctx.fillText(text, box.left + 3 * unit, box.bottom - 4 * unit);
}

// `taken`: where other labels stand.
export function paintMarks(plot: uPlot, limit: Limit | null, pin: Pin | null, taken: Box[]) {
  const { ctx } = plot;
  const unit = devicePixelRatio, frame = frameOf(plot), strokes = strokesOf(plot), labels = [...taken];
  const level = limit === null ? Number.NaN : plot.valToPos(limit.value, 'y', true);
  const limited = level > frame.top && level < frame.bottom;
  const sizeOf = (text: string) => ctx.measureText(text).width + 6 * unit;
  begin(ctx, '600 ');
  ctx.strokeStyle = colour('bad');
  if (limited) {
    ctx.setLineDash([6 * unit, 4 * unit]);
    ctx.lineWidth = 1.5 * unit;
    ctx.beginPath(); ctx.moveTo(frame.left, level); ctx.lineTo(frame.right, level); ctx.stroke();
    ctx.setLineDash([]);
    strokes.push([frame.left, level, frame.right, level]);
  }
  if (pin) {
    const [x, y] = [plot.valToPos(pin.x, 'x', true), plot.valToPos(pin.y, 'y', true)];
    ctx.lineWidth = 2 * unit;
    ctx.beginPath(); ctx.arc(x, y, 6 * unit, 0, 7); ctx.stroke();
    labels.push({ left: x - 7 * unit, top: y - 7 * unit, right: x + 7 * unit, bottom: y + 7 * unit });
    const roof = { ...frame, top: Math.max(0, frame.top - 6 * unit) };  // the highest mark has little room above it
    const box = place(placesAround(x, y, sizeOf(pin.name), 15 * unit, 9 * unit, frame), roof, labels, strokes);
    if (box) { write(ctx, pin.name, box); labels.push(box); }
  }
  if (limited) {
    const box = place(placesAlong(level, sizeOf(limit!.name), 15 * unit, 4 * unit, frame), frame, labels, strokes);
    if (box) write(ctx, limit!.name, box);
  }
  ctx.restore();
}
