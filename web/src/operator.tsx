// One operator: its tensors side by side.
import { useEffect, useRef } from 'preact/hooks';
import type { Details, Operator, Picture, Result, Slot } from './data';
import { counts, floats, isServed } from './data';
import { colour, Copy, heat, Section, useTheme, useWidth, Verdict } from './common';
import { Elements } from './elements';
import { cosine, count, exact, known, percent, pythonText, shellText, short } from './format';
import { judge } from './judge';
import { Source } from './header';
import { setView, useView } from './store';

function Facts({ slot, result }: { slot: Slot; result: Result }) {
  const facts: [string, string][] = [['shape', slot.shape || '—'], ['dtype', slot.actualDtype && slot.actualDtype !== slot.dtype ? `${slot.dtype} against ${slot.actualDtype}` : slot.dtype || '—']];
  if (result.is_comparison && slot.method === 'elements')
    facts.push(['elements that differ', `${count(slot.mismatch)} of ${count(slot.elements)} (${percent(slot.mismatch, slot.elements) || '0 %'})`],
      ['largest error', short(slot.maxAbs)], ['error ÷ tolerance', known(slot.scaled)], ['relative error (L2)', known(slot.relativeL2)],
      ['cosine', cosine(slot.cosine)], ['mean error', known(slot.meanAbs)], ['tolerance', `${slot.atol} + ${slot.rtol} · |golden|`]);
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
  useEffect(() => {
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
      <div class="scroll short" tabIndex={0} role="region" aria-label="The worst elements">
        <table class="numbers"><thead><tr><th scope="col">index</th><th scope="col" class="number">golden</th><th scope="col" class="number">actual</th><th scope="col" class="number">difference</th></tr></thead>
          <tbody>{details.worst.map((element) => <tr key={element.position}><td>{element.position}</td><td class="number">{exact(element.golden)}</td><td class="number">{exact(element.actual)}</td><td class="number">{short(element.actual - element.golden)}</td></tr>)}</tbody></table>
      </div>
    </figure>
  );
}

function snippet(result: Result, op: Operator, slot: Slot): string {
  const side = (name: string, path: string, operator: string) => `${name} = opdump.open(${pythonText(path)}).find(${pythonText(operator)}, step=${op.step}, rank=${op.rank})[0][${pythonText(slot.name)}].numpy()`;
  const golden = String(result.about.golden ?? '');
  if (!result.is_comparison) return `import opdump\n\n${side('tensor', golden, op.name)}`;
  return `import numpy, opdump\n\n${side('golden', golden, op.name)}\n${side('actual', String(result.about.actual), op.actualName || op.name)}\nnumpy.testing.assert_allclose(actual, golden, rtol=${slot.rtol}, atol=${slot.atol})`;
}

function commands(result: Result, op: Operator, slot: Slot): string {
  const show = (path: string, name: string) => `opdump show ${shellText(path)} ${shellText(name)} --step ${op.step} --slot ${slot.name}`;
  const golden = String(result.about.golden ?? '');
  return [show(golden, op.name), ...(result.is_comparison ? [show(String(result.about.actual), op.actualName || op.name)] : [])].join('\n');
}

export function OperatorPage({ result, op }: { result: Result; op: Operator | null }) {
  const view = useView();
  if (!op) return null;
  const slot = op.slots.find((one) => one.id === view.slot) ?? op.key ?? op.slots.find((one) => one.side === 'output') ?? op.slots[0];
  const details = slot ? result.details.get(slot.id) : undefined;
  const [golden, actual, map] = ['histogram.golden', 'histogram.actual', 'difference'].map((kind) => details?.pictures.get(kind));
  const args = result.arguments.get(op.name) ?? [];
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
            {golden && actual && <Histograms golden={golden} actual={actual} />}
            {details && <Profiles details={details} slot={slot} />}
            {details && <Worst details={details} />}
            {isServed() && (result.is_comparison ? slot.method === 'elements' : slot.statistics !== null) && <Elements result={result} op={op} slot={slot} />}
          </div>
          {!details && result.is_comparison && <p class="empty">{slot.verdict === 'match' ? 'This tensor matches.' : slot.verdict === 'skipped' ? 'Neither dump has its data.' : 'No pictures were kept of this tensor.'}</p>}
        </div>
      )}
      <div class="charts">
        {args.length > 0 && <figure class="chart"><figcaption>Arguments</figcaption><dl class="arguments">{args.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl></figure>}
        {op.source && op !== result.firstBad && <figure class="chart"><figcaption>Where it is called</figcaption><Source op={op} sources={result.sources} /></figure>}
      </div>
      {slot && <details class="print-open"><summary>The same in Python and in a shell</summary><Copy text={snippet(result, op, slot)} label="Python" /><Copy text={commands(result, op, slot)} label="Commands" /></details>}
    </Section>
  );
}
