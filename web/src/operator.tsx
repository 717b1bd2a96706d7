// One operator: its tensors side by side.
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Argument, Details, Operator, Picture, Result, Slot } from './data';
import { counts, floats, isServed } from './data';
import { colour, Copy, heat, Section, useTheme, useWidth, Verdict } from './common';
import { Elements, numbersOf, Sliders } from './elements';
import { cosine, count, exact, known, percent, pythonText, shellText, short, tiny } from './format';
import { judge } from './judge';
import { Source } from './header';
import { setView, useView } from './store';

function Facts({ slot, result }: { slot: Slot; result: Result }) {
  const facts: [string, string][] = [['shape', slot.shape || '—'], ['dtype', slot.actualDtype && slot.actualDtype !== slot.dtype ? `${slot.dtype} against ${slot.actualDtype}` : slot.dtype || '—']];
  if (result.is_comparison && slot.method === 'elements')
    facts.push(['elements that differ', `${count(slot.mismatch)} of ${count(slot.elements)} (${percent(slot.mismatch, slot.elements) || '0 %'})`],
      ['largest error', short(slot.maxAbs)], ['error ÷ tolerance', known(slot.scaled)], ['relative error (L2)', known(slot.relativeL2)],
      ['cosine', cosine(slot.cosine, slot.mismatch)], ['mean error', known(slot.meanAbs)], ['tolerance', `${tiny(slot.atol)} + ${tiny(slot.rtol)} · |golden|`]);
  if (slot.nanMismatch > 0) facts.push(['NaN or Inf on one side', count(slot.nanMismatch)]);
  const s = slot.statistics;
  if (s) facts.push(['smallest', known(s.min)], ['largest', known(s.max)], ['mean', known(s.mean)], ['L2 norm', known(s.l2)], ['NaN', count(s.nan)], ['infinities', count(s.inf)], ['zeros', `${count(s.zero)} ${percent(s.zero, s.count) ? `(${percent(s.zero, s.count)})` : ''}`]);
  return <dl class="facts-list">{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}

// Both histograms over the same values; heights are logarithms of counts.
function Histograms({ golden, actual }: { golden: Picture; actual: Picture }) {
  const sides = [counts(golden), counts(actual)];
  const height = 120, most = Math.max(1, ...sides.flat());
  const tall = (value: number) => (value > 0 ? 6 + (height - 6) * (Math.log1p(value) / Math.log1p(most)) : 0);
  const bins = sides[0].length, width = 480 / bins;
  const outline = (values: number[]) => `M0 ${height} ${values.map((value, i) => `L${(i * width).toFixed(1)} ${(height - tall(value)).toFixed(1)} L${((i + 1) * width).toFixed(1)} ${(height - tall(value)).toFixed(1)}`).join(' ')} L480 ${height} Z`;
  return (
    <figure class="chart"><figcaption>Values <span class="key golden">golden</span> <span class="key actual">actual</span> <span class="soft">log scale of counts</span></figcaption>
      <svg viewBox={`0 0 480 ${height}`} preserveAspectRatio="none" role="img" aria-label={`Histograms of values from ${short(golden.lowest)} to ${short(golden.highest)}, at most ${count(most)} in a bin`}>
        <path d={outline(sides[0])} class="golden" /><path d={outline(sides[1])} class="actual" />
      </svg>
      <p class="axis"><span>{short(golden.lowest)}</span><span>{short(golden.highest)}</span></p>
    </figure>
  );
}

function ErrorMap({ picture, slot, worst }: { picture: Picture; slot: Slot; worst: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const [holder, width] = useWidth<HTMLDivElement>();
  const cells = floats(picture);
  const { rows, columns } = picture;
  let worstAt = 0, largest = 0;
  cells.forEach((value, i) => { const size = Number.isNaN(value) ? Infinity : value; if (size > largest) { largest = size; worstAt = i; } });
  const finite = cells.reduce((a, b) => (b > a ? b : a), 0), small = cells.reduce((a, b) => (b > 0 && b < a ? b : a), finite);
  const cell = Math.max(2, Math.min(28, Math.floor(Math.min(width || 300, 460) / columns), Math.floor(320 / rows)));
  const [across, down] = [cell * columns, cell * rows];
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const unit = devicePixelRatio;
    canvas.current!.width = across * unit;
    canvas.current!.height = down * unit;
    canvas.current!.style.width = `${across}px`;
    canvas.current!.style.height = `${down}px`;
    context.scale(unit, unit);
    for (let i = 0; i < cells.length; ++i) {
      const value = cells[i];
      context.fillStyle = Number.isNaN(value) ? '#000' : value === 0 ? colour('nothing') : heat(0.12 + 0.88 * (finite > small ? Math.log(value / small) / Math.log(finite / small) : 1), theme);
      context.fillRect((i % columns) * cell, Math.floor(i / columns) * cell, cell, cell);
    }
    const [x, y] = [(worstAt % columns + 0.5) * cell, (Math.floor(worstAt / columns) + 0.5) * cell];
    context.strokeStyle = colour('accent');
    context.lineWidth = 1.5;
    context.beginPath(); context.moveTo(x, 0); context.lineTo(x, down); context.moveTo(0, y); context.lineTo(across, y); context.stroke();
    context.lineWidth = 2.5;
    context.strokeRect(x - cell / 2 - 2, y - cell / 2 - 2, cell + 4, cell + 4);
  }, [picture, theme, across, down]);
  if (cells.length === 0) return null;
  const dims = slot.shape.replace(/[()]/g, '').split(',').filter(Boolean);
  const caption = dims.length < 2 ? `${slot.shape} in lines` : picture.across === 0 ? `${slot.shape} in lines` : `${dims.slice(0, picture.across).join('·')} down, ${dims.slice(picture.across).join('·')} across`;
  return (
    <figure class="chart" ref={holder as never}><figcaption>|difference| <span class="soft">{caption}; each cell is its largest element, the cross marks the worst: {worst}</span></figcaption>
      <canvas ref={canvas} role="img" aria-label={`Map of differences, ${rows} by ${columns} cells, from ${short(small)} to ${short(finite)}; the worst element is ${worst}`} />
      <p class="axis"><span><i class="swatch none" /> equal</span><span class="ramp" aria-hidden="true">{[0.12, 0.3, 0.5, 0.7, 0.85, 1].map((share) => <i key={share} class="swatch" ref={(element) => { if (element) element.style.background = heat(share, theme); }} />)}</span><span>{short(small)} to {short(finite)}</span>{largest === Infinity && <span><i class="swatch black" /> NaN/Inf</span>}</p>
    </figure>
  );
}

const bytesOf = (picture: Picture): Uint8Array => Uint8Array.from(atob(picture.bytes), (c) => c.charCodeAt(0));

// A part of a tensor of three and more dimensions: the last two, at an index of the others. The plane stands for all whose
// cells it shares.
function Planes({ kind, picture, slot, worst }: { kind: string; picture: Picture; slot: Slot; worst: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const view = useView('plane');
  const [holder, width] = useWidth<HTMLDivElement>();
  const { rows, columns } = picture;
  const dims = numbersOf(slot.shape), sizes = numbersOf(kind), worstAt = numbersOf(worst), given = numbersOf(view.plane);
  const isPlace = (index: number[]) => index.length === sizes.length && index.every((at, axis) => at < dims[axis]);
  const index = [given, worstAt.slice(0, -2)].find(isPlace) ?? sizes.map(() => 0);
  const cellOf = (at: number, axis: number, cells: number) => Math.floor((at * cells) / dims[axis]);
  const plane = index.reduce((flat, at, axis) => flat * sizes[axis] + cellOf(at, axis, sizes[axis]), 0);
  const hasWorst = worstAt.length === dims.length && sizes.every((cells, axis) => cellOf(worstAt[axis], axis, cells) === cellOf(index[axis], axis, cells));
  const size = Math.max(4, Math.min(28, Math.floor(Math.min(width || 300, 460) / columns), Math.floor(280 / rows)));
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    canvas.current!.width = columns * size;
    canvas.current!.height = rows * size;
    bytesOf(picture).subarray(plane * rows * columns, (plane + 1) * rows * columns).forEach((level, i) => {
      context.fillStyle = level === 255 ? '#000' : level === 0 ? colour('nothing') : heat(0.12 + (0.88 * level) / 254, theme);
      context.fillRect((i % columns) * size, Math.floor(i / columns) * size, size, size);
    });
    if (!hasWorst) return;
    const [y, x] = [cellOf(worstAt[dims.length - 2], dims.length - 2, rows), cellOf(worstAt[dims.length - 1], dims.length - 1, columns)].map((at) => (at + 0.5) * size);
    context.strokeStyle = colour('accent');
    context.lineWidth = 1.5;
    context.beginPath(); context.moveTo(x, 0); context.lineTo(x, rows * size); context.moveTo(0, y); context.lineTo(columns * size, y); context.stroke();
  }, [picture, theme, plane, hasWorst, size]);
  const ends = (at: number, axis: number): string => {
    const cell = cellOf(at, axis, sizes[axis]), first = Math.ceil((cell * dims[axis]) / sizes[axis]), last = Math.ceil(((cell + 1) * dims[axis]) / sizes[axis]) - 1;
    return first === last ? String(first) : `${first} to ${last}`;
  };
  const shown = index.map(ends).join(', ');
  return (
    <figure class="chart" ref={holder as never}><figcaption>|difference| in one plane <span class="soft">at {shown} of the dimensions before the last two{hasWorst ? '; the cross marks the worst element' : ''}</span></figcaption>
      <Sliders dims={dims} index={index} />
      <canvas ref={canvas} role="img" aria-label={`Map of differences at ${shown}, ${rows} by ${columns} cells, up to ${short(picture.highest)}`} />
    </figure>
  );
}

// Golden from left to right, actual from bottom to top: what agrees lies on the diagonal.
function Scatter({ picture }: { picture: Picture }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const size = 6;
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    const [width, height] = [picture.columns * size, picture.rows * size];
    canvas.current!.width = width * devicePixelRatio;
    canvas.current!.height = height * devicePixelRatio;
    canvas.current!.style.width = `${width}px`;
    canvas.current!.style.height = `${height}px`;
    context.scale(devicePixelRatio, devicePixelRatio);
    context.fillStyle = colour('nothing');
    context.fillRect(0, 0, width, height);
    const cells = bytesOf(picture), most = cells.reduce((a, b) => Math.max(a, b), 1);
    cells.forEach((value, i) => {
      if (value === 0) return;
      context.fillStyle = heat(0.2 + (0.8 * value) / most, theme);
      context.fillRect((i % picture.columns) * size, height - (Math.floor(i / picture.columns) + 1) * size, size, size);
    });
    context.strokeStyle = colour('accent');
    context.globalAlpha = 0.7;
    context.beginPath(); context.moveTo(0, height); context.lineTo(width, 0); context.stroke();
  }, [picture, theme]);
  return (
    <figure class="chart"><figcaption>Golden against actual <span class="soft">golden across, actual up; equal values lie on the line</span></figcaption>
      <canvas ref={canvas} role="img" aria-label={`Elements by their golden and actual value, both from ${short(picture.lowest)} to ${short(picture.highest)}`} />
      <p class="axis"><span>{short(picture.lowest)}</span><span>{short(picture.highest)}</span></p>
    </figure>
  );
}

const ulpName = (bin: number, last: number): string => (bin === 0 ? 'equal' : bin === 1 ? 'below 1' : bin === last ? `2^${bin - 2} and more` : bin < 12 ? `${2 ** (bin - 2)}` : `2^${bin - 2}`);

// How many units in the last place the elements are off.
function Ulps({ picture }: { picture: Picture }) {
  const bins = counts(picture), last = bins.length - 1;
  const shown = bins.reduce((end, value, i) => (value > 0 && i < last ? i : end), 1) + 1;
  // What lies between the small errors and the smallest that there is has no elements.
  const smallest = bins.findIndex((value, i) => i > 1 && value > 0);
  const list = [...bins.slice(0, shown).map((value, i) => [i, value] as const).filter(([i]) => i < 2 || i >= smallest), ...(bins[last] > 0 ? [[last, bins[last]] as const] : [])];
  const most = Math.max(1, ...bins), total = bins.reduce((a, b) => a + b, 0);
  return (
    <figure class="chart"><figcaption>Error in units in the last place <span class="soft">bars are log counts</span></figcaption>
      <div class="ulps">
        {list.map(([bin, value]) => (
          <div key={bin}><span class="soft">{ulpName(bin, last)}</span>
            <svg viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={`${ulpName(bin, last)}: ${count(value)} elements`}><rect width={value > 0 ? 2 + (98 * Math.log1p(value)) / Math.log1p(most) : 0} height="10" class={bin > 1 ? 'off' : ''} /></svg>
            <span>{count(value)}</span><span class="soft">{percent(value, total)}</span></div>
        ))}
      </div>
    </figure>
  );
}

const notFiniteKinds: [number, string, string][] = [[1, 'NaN in golden', 'golden'], [2, 'infinity in golden', 'golden'], [4, 'NaN in actual', 'actual'], [8, 'infinity in actual', 'actual']];

function NotFinite({ picture }: { picture: Picture }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const cells = bytesOf(picture);
  const size = Math.max(2, Math.min(14, Math.floor(360 / picture.columns), Math.floor(240 / picture.rows)));
  useLayoutEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context) return;
    canvas.current!.width = picture.columns * size;
    canvas.current!.height = picture.rows * size;
    cells.forEach((bits, i) => {
      const [golden, actual] = [(bits & 3) > 0, (bits & 12) > 0];
      context.fillStyle = golden && actual ? colour('ink') : golden ? colour('line2') : actual ? colour('line1') : colour('nothing');
      context.fillRect((i % picture.columns) * size, Math.floor(i / picture.columns) * size, size, size);
    });
  }, [picture, theme]);
  return (
    <figure class="chart"><figcaption>NaN and infinities <span class="soft">cells as in the map of differences; dark: on both sides</span></figcaption>
      <canvas ref={canvas} role="img" aria-label="Map of NaN and infinities" />
      <p class="axis">{notFiniteKinds.filter(([bit]) => cells.some((bits) => (bits & bit) > 0)).map(([bit, name, side]) => <span key={bit}><i class={`swatch side-${side}`} /> {name} ({count(cells.reduce((n, bits) => n + ((bits & bit) > 0 ? 1 : 0), 0))} cells)</span>)}</p>
    </figure>
  );
}

// The same operator in other steps.
function Steps({ result, op, slot }: { result: Result; op: Operator; slot: Slot }) {
  const all = (result.byName.get(op.name) ?? []).filter((one) => one.rank === op.rank).sort((a, b) => a.step - b.step);
  const rows = all.flatMap((one) => { const same = one.slots.find(({ name }) => name === slot.name); return same ? [{ one, same }] : []; });
  if (rows.length < 2) return null;
  const head = result.is_comparison ? ['differ', 'largest error', 'error ÷ tol.', 'cosine'] : ['smallest', 'largest', 'L2 norm', 'NaN, Inf'];
  const cells = (same: Slot): string[] => (result.is_comparison
    ? [count(same.mismatch), known(same.maxAbs), known(same.scaled), cosine(same.cosine, same.mismatch)]
    : [known(same.statistics?.min ?? NaN), known(same.statistics?.max ?? NaN), known(same.statistics?.l2 ?? NaN), count((same.statistics?.nan ?? NaN) + (same.statistics?.inf ?? NaN))]);
  return (
    <figure class="chart"><figcaption>Over the steps</figcaption>
      <div class="scroll short" tabIndex={0} role="region" aria-label="The tensor in each step">
        <table class="numbers"><thead><tr><th scope="col">step</th>{head.map((name) => <th scope="col" class="number" key={name}>{name}</th>)}</tr></thead>
          <tbody>{rows.slice(0, 200).map(({ one, same }) => <tr key={one.id} class={one === op ? 'chosen' : ''}><td><button type="button" class="small" onClick={() => setView({ op: one.id, slot: same.id })} aria-label={`Step ${one.step}`}>{one.step}</button></td>{cells(same).map((text, i) => <td class="number" key={head[i]}>{text}</td>)}</tr>)}</tbody></table>
      </div>
    </figure>
  );
}

function Profiles({ details, slot }: { details: Details; slot: Slot }) {
  const dims = slot.shape.replace(/[()]/g, '').split(',').filter(Boolean);
  const profiles = [...details.pictures].filter(([kind]) => kind.startsWith('axis.')).map(([kind, picture]) => [Number(kind.slice(5)), floats(picture)] as const).filter(([, cells]) => cells.length > 1);
  if (profiles.length === 0) return null;
  return (
    <figure class="chart"><figcaption>Largest |difference| along each dimension</figcaption>
      {profiles.map(([axis, cells]) => {
        const most = cells.reduce((a, b) => (b > a ? b : a), 0);
        return (
          <div class="profile" key={axis}><span class="soft">dimension {axis} ({dims[axis]})</span>
            <svg viewBox={`0 0 ${cells.length * 4} 32`} preserveAspectRatio="none" role="img" aria-label={`Dimension ${axis}: largest difference at ${cells.indexOf(most)} of ${cells.length}, ${short(most)}`}>
              {Array.from(cells, (value, i) => { const tall = Number.isNaN(value) ? 32 : most > 0 ? (30 * value) / most : 0; return <rect key={i} x={i * 4} y={32 - tall} width={3.2} height={tall} class={Number.isNaN(value) ? 'nan' : ''} />; })}
            </svg></div>
        );
      })}
    </figure>
  );
}

function Worst({ details }: { details: Details }) {
  if (details.worst.length === 0) return null;
  return (
    <figure class="chart"><figcaption>The worst {details.worst.length} elements</figcaption>
      <div class="scroll" tabIndex={0} role="region" aria-label="The worst elements">
        <table class="numbers"><thead><tr><th scope="col">index</th><th scope="col" class="number">golden</th><th scope="col" class="number">actual</th><th scope="col" class="number">difference</th></tr></thead>
          <tbody>{details.worst.map((element) => <tr key={element.position}><td>{element.position}</td><td class="number">{exact(element.golden)}</td><td class="number">{exact(element.actual)}</td><td class="number">{short(element.actual - element.golden)}</td></tr>)}</tbody></table>
      </div>
    </figure>
  );
}

// What both sides were called with; one value where they agree.
function Arguments({ list, sides }: { list: Argument[]; sides: boolean }) {
  return (
    <dl class="arguments">
      {list.map(({ name, golden, actual }) => {
        const differs = sides && golden !== actual && golden !== null && actual !== null;
        return <div key={name} class={differs ? 'differs' : ''}><dt>{name}</dt><dd>{differs ? <><span class="key golden">golden</span> {golden} <span class="key actual">actual</span> {actual}</> : golden ?? actual}</dd></div>;
      })}
    </dl>
  );
}

function snippet(result: Result, op: Operator, slot: Slot): string {
  const side = (name: string, path: string, operator: string) => `${name} = opdump.open(${pythonText(path)}).find(${pythonText(operator)}, step=${op.step}, rank=${op.rank})[0][${pythonText(slot.name)}].numpy()`;
  const golden = String(result.about.golden ?? '');
  if (!result.is_comparison) return `import opdump\n\n${side('tensor', golden, op.name)}`;
  return `import numpy, opdump\n\n${side('golden', golden, op.name)}\n${side('actual', String(result.about.actual), op.actualName || op.name)}\nnumpy.testing.assert_allclose(actual, golden, rtol=${tiny(slot.rtol)}, atol=${tiny(slot.atol)})`;
}

function commands(result: Result, op: Operator, slot: Slot): string {
  const golden = shellText(String(result.about.golden ?? '')), place = `--step ${op.step} --rank ${op.rank} --slot ${slot.name}`;
  if (!result.is_comparison) return `opdump show ${golden} ${shellText(op.name)} ${place}`;
  const actual = shellText(String(result.about.actual));
  const both = op.actualName && op.actualName !== op.name
    ? [`opdump show ${golden} ${shellText(op.name)} ${place}`, `opdump show ${actual} ${shellText(op.actualName)} ${place}`]
    : [`opdump show ${golden} ${actual} ${shellText(op.name)} ${place}`];
  return [...both, `opdump reproduce ${actual} ${shellText(op.actualName || op.name)} --step ${op.step} -o reproduce.py`].join('\n');
}

// Of both names, where the sides call it differently.
function argumentsOf(result: Result, op: Operator): Argument[] {
  const own = result.arguments.get(op.name) ?? [];
  if (!op.actualName || op.actualName === op.name) return own;
  const other = new Map((result.arguments.get(op.actualName) ?? []).map((one) => [one.name, one.actual]));
  return own.map((one) => ({ ...one, actual: other.get(one.name) ?? one.actual }));
}

export function OperatorPage({ result, op }: { result: Result; op: Operator | null }) {
  const view = useView('slot', 'tolerance');
  if (!op) return null;
  const slot = op.slots.find((one) => one.id === view.slot) ?? op.key ?? op.slots.find((one) => one.side === 'output') ?? op.slots[0];
  const details = slot ? result.details.get(slot.id) : undefined;
  const [golden, actual, map, scatter, ulps, notFinite] = ['histogram.golden', 'histogram.actual', 'difference', 'scatter', 'ulps', 'not_finite'].map((kind) => details?.pictures.get(kind));
  const planes = [...(details?.pictures ?? [])].find(([kind]) => kind.startsWith('planes.'));
  const args = argumentsOf(result, op);
  return (
    <Section id="operator" title="Operator" class="operator">
      <p class="title breaks">{op.name}{op.actualName && op.actualName !== op.name ? <span class="soft"> = {op.actualName}</span> : null}</p>
      <p class="tags"><Verdict verdict={judge(op, view.tolerance)} /><span class="tag">{op.type || 'unknown type'}</span>{op.phase && <span class="tag">{op.phase}</span>}<span class="tag">step {op.step}</span><span class="tag">rank {op.rank}</span></p>
      {op.leftOut && <p class="hint">{op.leftOut}</p>}
      <div class="slots" role="tablist" aria-label="Tensors">
        {op.slots.map((one) => (
          <button type="button" role="tab" key={one.id} aria-selected={one === slot} class={one.verdict === 'match' || one.verdict === '' ? '' : one.verdict === 'skipped' ? 'quiet' : 'bad'} onClick={() => setView({ op: op.id, slot: one.id })}>
            {one.name}<span class="soft"> {one.shape}</span></button>
        ))}
      </div>
      {slot && (
        <div role="tabpanel" aria-label={slot.name} class="panel">
          {slot.reason && <p class="hint">{slot.reason}</p>}
          <Facts slot={slot} result={result} />
          <div class="charts">
            {map && <ErrorMap picture={map} slot={slot} worst={details?.worst[0]?.position ?? ''} />}
            {planes && !isServed() && <Planes kind={planes[0]} picture={planes[1]} slot={slot} worst={details?.worst[0]?.position ?? ''} />}
            {notFinite && <NotFinite picture={notFinite} />}
            {golden && actual && <Histograms golden={golden} actual={actual} />}
            {scatter && <Scatter picture={scatter} />}
            {ulps && <Ulps picture={ulps} />}
            {details && <Profiles details={details} slot={slot} />}
            {details && <Worst details={details} />}
            <Steps result={result} op={op} slot={slot} />
            {isServed() && (result.is_comparison ? slot.method === 'elements' : slot.statistics !== null) && <Elements result={result} op={op} slot={slot} />}
          </div>
          {!details && result.is_comparison && <p class="empty">{slot.verdict === 'match' ? 'This tensor matches.' : slot.verdict === 'skipped' ? 'Neither dump has its data.' : 'No pictures were kept of this tensor.'}</p>}
        </div>
      )}
      <div class="charts">
        {args.length > 0 && <figure class="chart"><figcaption>Arguments</figcaption><Arguments list={args} sides={result.is_comparison} /></figure>}
        {op.source && op !== result.firstBad && <figure class="chart"><figcaption>Where it is called</figcaption><Source op={op} sources={result.sources} /></figure>}
      </div>
      {slot && <details class="print-open"><summary>The same in Python and in a shell</summary><Copy text={snippet(result, op, slot)} label="Python" /><Copy text={commands(result, op, slot)} label="Commands" /></details>}
    </Section>
  );
}
