// The elements of a tensor, asked of the server part by part: a cell of the picture is the value of largest
// magnitude of its elements. A click looks closer, down to the numbers.
import { useEffect, useRef, useState } from 'preact/hooks';
import { serverUrl, type Operator, type Result, type Slot } from './data';
import { heat, useTheme, useWidth } from './common';
import { count, exact, short } from './format';

interface Tile { rows: number; columns: number; row: number; column: number; shown_rows: number; shown_columns: number; height: number; width: number; sides: Shown[]; values: Float64Array[] }
interface Place { row: number; column: number; rows: number; columns: number }

const whole: Place = { row: 0, column: 0, rows: 0, columns: 0 };
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

function draw(canvas: HTMLCanvasElement, tile: Tile, values: Float64Array, theme: string, width: number) {
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
}

export function Elements({ result, op, slot }: { result: Result; op: Operator; slot: Slot }) {
  const theme = useTheme();
  const [holder, width] = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [place, setPlace] = useState(whole);
  const [tile, setTile] = useState<Tile | null>(null);
  const [shown, setShown] = useState<Shown>(result.is_comparison ? 'difference' : 'golden');
  const [problem, setProblem] = useState('');
  const across = result.details.get(slot.id)?.pictures.get('difference')?.across ?? Math.max(0, slot.shape.split(',').filter((dim) => /\d/.test(dim)).length - 1);
  useEffect(() => { setPlace(whole); setTile(null); }, [slot]);
  useEffect(() => {
    let isCurrent = true;
    const asked = { rank: op.rank, step: op.step, graph: op.graph, golden: op.name, actual: op.actualName || op.name, slot: slot.name, across, ...place };
    fetch(serverUrl('api/tile', asked)).then(async (answer) => {
      const given = answer.ok ? readTile(await answer.arrayBuffer()) : (await answer.text()).trim();
      if (!isCurrent) return;
      setProblem(typeof given === 'string' ? given : '');
      setTile(typeof given === 'string' ? null : given);
    }).catch((error: Error) => isCurrent && setProblem(error.message));
    return () => { isCurrent = false; };
  }, [slot, place]);
  const values = tile?.values[Math.max(0, tile.sides.indexOf(shown))] ?? new Float64Array();
  const isText = tile !== null && tile.width <= asNumbers && tile.height <= asNumbers;
  useEffect(() => { if (canvas.current && tile && !isText) draw(canvas.current, tile, values, theme, width || 400); }, [tile, shown, theme, width]);
  const zoom = (event: MouseEvent) => {
    if (!tile) return;
    const box = canvas.current!.getBoundingClientRect();
    const closer = (at: number, from: number, all: number): [number, number] => {
      const most = Math.max(1, Math.ceil(all / 4));
      return [from + Math.max(0, Math.min(all - most, Math.floor(at * all - most / 2))), most];
    };
    const [row, rows] = closer((event.clientY - box.top) / box.height, tile.row, tile.shown_rows);
    const [column, columns] = closer((event.clientX - box.left) / box.width, tile.column, tile.shown_columns);
    setPlace({ row, column, rows, columns });
  };
  return (
    <figure class="chart" ref={holder as never}><figcaption>Elements <span class="soft">read from the dump{tile && `: rows ${count(tile.row)}–${count(tile.row + tile.shown_rows - 1)} of ${count(tile.rows)}, columns ${count(tile.column)}–${count(tile.column + tile.shown_columns - 1)} of ${count(tile.columns)}; click to look closer`}</span></figcaption>
      <p class="tags">{result.is_comparison && sides.map((side) => <button type="button" class="small" key={side} aria-pressed={shown === side} onClick={() => setShown(side)}>{side}</button>)}
        {place.rows > 0 && <button type="button" class="small" onClick={() => setPlace(whole)}>All of it</button>}</p>
      {problem && <p class="empty">{problem}</p>}
      {tile && !isText && <canvas ref={canvas} class="zoom" role="img" aria-label={`${shown} of rows ${tile.row} to ${tile.row + tile.shown_rows - 1}`} onClick={zoom} />}
      {tile && isText && <div class="scroll"><table class="numbers">{<tbody>{Array.from({ length: tile.height }, (_, i) => <tr key={i}>{Array.from(values.subarray(i * tile.width, (i + 1) * tile.width)).map((value, j) => <td key={j} class="number" title={exact(value)}>{short(value)}</td>)}</tr>)}</tbody>}</table></div>}
    </figure>
  );
}
