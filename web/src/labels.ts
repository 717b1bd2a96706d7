// Labels in a plot: where one stands so that it hides no other, and as little of the lines as can be.

export interface Box { left: number; top: number; right: number; bottom: number }
export type Stroke = [x: number, y: number, toX: number, toY: number];

const meet = (a: Box, b: Box) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
const within = (inner: Box, outer: Box) => inner.left >= outer.left && inner.right <= outer.right && inner.top >= outer.top && inner.bottom <= outer.bottom;

// Whether a straight stroke passes through a box: the part of it between the sides, of that the part between top and bottom.
function passes([x, y, toX, toY]: Stroke, box: Box): boolean {
  let from = 0, to = 1;
  for (const [start, length, low, high] of [[x, toX - x, box.left, box.right], [y, toY - y, box.top, box.bottom]]) {
    if (length === 0) {
      if (start <= low || start >= high) return false;
      continue;
    }
    const [a, b] = [(low - start) / length, (high - start) / length];
    from = Math.max(from, Math.min(a, b));
    to = Math.min(to, Math.max(a, b));
  }
  return from < to;
}

// Of the places inside `frame` that meet nothing in `taken`, the one with the fewest strokes under it; the first of equals. None: there is no room.
export function place(places: Box[], frame: Box, taken: Box[], strokes: Stroke[]): Box | undefined {
  const free = places.filter((one) => within(one, frame) && !taken.some((other) => meet(one, other)));
  const crossed = free.map((one) => strokes.filter((stroke) => passes(stroke, one)).length);
  return free[crossed.indexOf(Math.min(...crossed))];
}

const apart = (low: number, at: number, high: number) => Math.max(low, Math.min(at, high));

// Beside a mark at (x, y): above, below, right and left of it, above and below with the mark at an end of the label, and there as far to
// either side as the frame lets it.
export function placesAround(x: number, y: number, width: number, height: number, gap: number, frame: Box): Box[] {
  const middle = apart(frame.left, x - width / 2, frame.right - width);
  const [right, left] = [frame.right - width, frame.left].map((end) => apart(x - width, end, x));
  const [above, below] = [y - gap - height, y + gap];
  const corners = [[middle, above], [middle, below], [x + gap, y - height / 2], [x - gap - width, y - height / 2],
    [x, above], [x - width, above], [x, below], [x - width, below], [right, above], [left, above], [right, below], [left, below]];
  return corners.map(([from, top]) => ({ left: from, top, right: from + width, bottom: top + height }));
}

// At either end of a level line, above it and below it.
export function placesAlong(y: number, width: number, height: number, gap: number, frame: Box): Box[] {
  return [frame.right - gap - width, frame.left + gap].flatMap((left) =>
    [y - gap / 2 - height, y + gap / 2].map((top) => ({ left, top, right: left + width, bottom: top + height })));
}
