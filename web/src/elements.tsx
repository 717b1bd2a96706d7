// The elements of a tensor, asked of the server part by part: a cell of the picture is the value of largest
// magnitude of its elements. A click looks closer, down to the numbers.
import { useEffect, useRef, useState } from 'preact/hooks';
import { serverUrl, type Operator, type Result, type Slot } from './data';
import { colour, heat, useTheme, useWidth } from './common';
import { count, exact, short } from './format';
import { setView, useView } from './store';

interface Tile { rows: number; columns: number; row: number; column: number; shown_rows: number; shown_columns: number; height: number; width: number; sides: Shown[]; values: Float64Array[] }
interface Place { row: number; column: number; rows: number; columns: number }

// The part of the matrix that is looked at when nothing else was chosen: all of it, or a plane.
const whole: Place = { row: 0, column: 0, rows: 0, columns: 0 };
export const numbersOf = (text: string): number[] => (text.match(/\d+/g) ?? []).map(Number);
// The number of an index in row-major order.
const flat = (index: number[], dims: number[]): number => index.reduce((at, i, axis) => at * dims[axis] + i, 0);
const sides = ['difference', 'golden', 'actual'] as const;
type Shown = (typeof sides)[number];
const asNumbers = 12; // cells in each direction that are shown as numbers

// A line of JSON, and behind it the numbers of each side.
function readTile(bytes: ArrayBuffer): Tile {
  const end = new Uint8Array(bytes).indexOf(10);
  const head = JSON.parse(new TextDecoder().decode(bytes.slice(0, end))) as Tile;
  const all = new Float64Array(bytes.slice(end + 1)), cells = head.height * head.width;
  return { ...head, values: head.sides.map((_, side) => all.subarray(side * cells, (side + 1) * cells)) };
}

// `worst`: the row and column of the worst element.
function draw(canvas: HTMLCanvasElement, tile: Tile, values: Float64Array, theme: string, width: number, worst: [number, number] | null) {
  const size = Math.max(1, Math.min(24, Math.floor(Math.min(width, 620) / tile.width), Math.floor(420 / tile.height)));
  const context = canvas.getContext('2d')!;
  canvas.width = size * tile.width;
  canvas.height = size * tile.height;
  let high = 0, least = Infinity;
  for (const value of values) {
    const size = Math.abs(value);
    if (size > high && Number.isFinite(size)) high = size;
    if (size > 0 && size < least) least = size;
  }
  const low = Math.max(high / 1e6, Math.min(least, high));
  values.forEach((value, i) => {
    const share = value === 0 ? 0 : high > low ? 0.12 + 0.88 * Math.max(0, Math.log(Math.abs(value) / low) / Math.log(high / low)) : 1;
    context.fillStyle = Number.isFinite(value) ? heat(share, theme) : '#000';
    context.fillRect((i % tile.width) * size, Math.floor(i / tile.width) * size, size, size);
  });
  if (!worst) return;
  const [down, across] = [(worst[0] + 0.5 - tile.row) / tile.shown_rows, (worst[1] + 0.5 - tile.column) / tile.shown_columns];
  if (down < 0 || down >= 1 || across < 0 || across >= 1) return;
  const [x, y] = [across * canvas.width, down * canvas.height];
  context.strokeStyle = colour('accent');
  context.lineWidth = 1.5;
  context.beginPath(); context.moveTo(x, 0); context.lineTo(x, canvas.height); context.moveTo(0, y); context.lineTo(canvas.width, y); context.stroke();
  context.strokeRect(x - size / 2 - 2, y - size / 2 - 2, size + 4, size + 4);
}

// A slider for each dimension before the last two.
export function Sliders({ dims, index }: { dims: number[]; index: number[] }) {
  return (
    <div class="sliders" role="group" aria-label="Index of the plane">
      {index.map((at, axis) => (
        <label key={axis}><span>dimension {axis}: <b>{at}</b> of {count(dims[axis])}</span>
          <input type="range" min="0" max={dims[axis] - 1} step="1" value={at} aria-valuetext={`index ${at} of ${dims[axis]}`}
            onInput={(event) => setView({ plane: index.map((one, i) => (i === axis ? Number(event.currentTarget.value) : one)).join(), place: '' })} /></label>
      ))}
    </div>
  );
}


export function Elements({ result, op, slot }: { result: Result; op: Operator; slot: Slot }) {
  const theme = useTheme();
  const view = useView('plane', 'place', 'side');
  const [holder, width] = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [tile, setTile] = useState<Tile | null>(null);
  const [problem, setProblem] = useState('');
  const details = result.details.get(slot.id);
  const dims = numbersOf(slot.shape), lead = dims.slice(0, -2);
  const given = numbersOf(view.plane);
  const plane = lead.length > 0 && given.length === lead.length && given.every((at, axis) => at < lead[axis]) ? given : null;
  const across = plane ? dims.length - 1 : details?.pictures.get('difference')?.across ?? Math.max(0, dims.length - 1);
  const worst = numbersOf(details?.worst[0]?.position ?? '');
  const worstAt: [number, number] | null = worst.length === dims.length && worst.length > 0 ? [flat(worst.slice(0, across), dims), flat(worst.slice(across), dims.slice(across))] : null;
  const home: Place = plane ? { row: flat(plane, lead) * dims[dims.length - 2], column: 0, rows: dims[dims.length - 2], columns: dims[dims.length - 1] } : whole;
  const chosen = numbersOf(view.place);
  const place: Place = chosen.length === 4 ? { row: chosen[0], column: chosen[1], rows: chosen[2], columns: chosen[3] } : home;
  const shown: Shown = sides.find((side) => side === view.side) ?? (result.is_comparison ? 'difference' : 'golden');
  const asked = serverUrl('api/tile', { rank: op.rank, step: op.step, graph: op.graph, golden: op.name, actual: op.actualName || op.name, slot: slot.name, across, ...place });
  useEffect(() => { setTile(null); }, [slot]);
  useEffect(() => {
    const stop = new AbortController();
    fetch(asked, { signal: stop.signal }).then(async (answer) => {
      const got = answer.ok ? readTile(await answer.arrayBuffer()) : (await answer.text()).trim();
      setProblem(typeof got === 'string' ? got : '');
      setTile(typeof got === 'string' ? null : got);
    }).catch((error: Error) => error.name !== 'AbortError' && setProblem(error.message));
    return () => stop.abort();
  }, [asked]);
  const values = tile?.values[Math.max(0, tile.sides.indexOf(shown))] ?? new Float64Array();
  const isText = tile !== null && tile.width <= asNumbers && tile.height <= asNumbers;
  useEffect(() => { if (canvas.current && tile && !isText) draw(canvas.current, tile, values, theme, width || 400, worstAt); }, [tile, shown, theme, width]);
  const zoom = (event: MouseEvent) => {
    if (!tile) return;
    const box = canvas.current!.getBoundingClientRect();
    const closer = (at: number, from: number, all: number): [number, number] => {
      const most = Math.max(1, Math.ceil(all / 4));
      return [from + Math.max(0, Math.min(all - most, Math.floor(at * all - most / 2))), most];
    };
    const [row, rows] = closer((event.clientY - box.top) / box.height, tile.row, tile.shown_rows);
    const [column, columns] = closer((event.clientX - box.left) / box.width, tile.column, tile.shown_columns);
    setView({ place: [row, column, rows, columns].join() });
  };
  const isWorst = (row: number, column: number): boolean => tile !== null && worstAt !== null && worstAt[0] === tile.row + row && worstAt[1] === tile.column + column && tile.shown_rows === tile.height && tile.shown_columns === tile.width;
  return (
    <figure class="chart" ref={holder as never}><figcaption>Elements <span class="soft">read from the dump{tile && `: rows ${count(tile.row)}–${count(tile.row + tile.shown_rows - 1)} of ${count(tile.rows)}, columns ${count(tile.column)}–${count(tile.column + tile.shown_columns - 1)} of ${count(tile.columns)}; click to look closer`}</span></figcaption>
      <p class="tags">{result.is_comparison && sides.map((side) => <button type="button" class="small" key={side} aria-pressed={shown === side} onClick={() => setView({ side })}>{side}</button>)}
        {lead.length > 0 && <button type="button" class="small" aria-pressed={plane !== null} onClick={() => setView({ plane: plane ? '' : (worst.length === dims.length ? worst : dims.map(() => 0)).slice(0, -2).join(), place: '' })}>one plane</button>}
        {chosen.length === 4 && <button type="button" class="small" onClick={() => setView({ place: '' })}>All of it</button>}</p>
      {plane && <Sliders dims={dims} index={plane} />}
      {problem && <p class="empty">{problem}</p>}
      {!tile && !problem && <p class="empty" role="status">Reading the elements from the dump …</p>}
      {tile && !isText && <canvas ref={canvas} class="zoom" role="img" aria-label={`${shown} of rows ${tile.row} to ${tile.row + tile.shown_rows - 1}${worstAt ? '; the cross marks the worst element' : ''}`} onClick={zoom} />}
      {tile && isText && <div class="scroll"><table class="numbers">{<tbody>{Array.from({ length: tile.height }, (_, i) => <tr key={i}>{Array.from(values.subarray(i * tile.width, (i + 1) * tile.width)).map((value, j) => <td key={j} class={`number ${isWorst(i, j) ? 'worst' : ''}`} title={exact(value)}>{short(value)}</td>)}</tr>)}</tbody>}</table></div>}
    </figure>
  );
}
