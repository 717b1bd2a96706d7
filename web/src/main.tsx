import 'uplot/dist/uPlot.min.css';
import './style.css';
import { render } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { themeNow } from './common';
import { Curve } from './curve';
import { addPart, askServer, forgetParts, isServed, loadRaw, readResult, type Operator, type Result } from './data';
import { LocalGraph } from './graph';
import { Header } from './header';
import { Health } from './health';
import { Modules } from './modules';
import { OperatorPage } from './operator';
import { Ranks } from './ranks';
import { useView } from './store';
import { OperatorTable } from './table';

function ThemeButton() {
  const [, redraw] = useState(0);
  const change = () => { document.documentElement.dataset.theme = themeNow() === 'dark' ? 'light' : 'dark'; redraw((n) => n + 1); };
  return <button type="button" class="small theme" onClick={change}>{themeNow() === 'dark' ? 'Light' : 'Dark'}</button>;
}

const normOf = (op: Operator): number => {
  const norms = op.slots.filter((slot) => slot.side === 'output' && slot.statistics).map((slot) => (slot.statistics!.nan + slot.statistics!.inf > 0 ? Infinity : slot.statistics!.l2));
  return norms.length > 0 ? Math.max(...norms) : NaN;
};

// The operator of the address. Of a large result the server has to be asked for its details; until they come, the page
// shows what it has shown before.
function useOperator(result: Result, id: number): [Operator | null, string] {
  const wanted = id || result.firstShown;
  const [, redraw] = useState(0);
  const [problem, setProblem] = useState('');
  const last = useRef<Operator | null>(null);
  // Before anything is painted: the answer is on its way meanwhile.
  useLayoutEffect(() => {
    if (!result.overview || isDetailed(result, wanted)) { setProblem(''); return undefined; }
    let isCurrent = true;
    askServer('api/operator', { id: wanted }).then((raw) => { forgetParts(result); addPart(result, raw); result.detailed.add(wanted); if (isCurrent) { setProblem(''); redraw((n) => n + 1); } })
      .catch((error: Error) => isCurrent && setProblem(error.message));
    return () => { isCurrent = false; };
  }, [result, wanted]);
  if (isDetailed(result, wanted)) last.current = result.byId.get(wanted) ?? null;
  return [last.current, problem];
}

const isDetailed = (result: Result, id: number): boolean => !result.overview || result.detailed.has(id);

// The same operator after what matters more has been painted.
function useLater(op: Operator | null): Operator | null {
  const [later, setLater] = useState(op);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const frame = requestAnimationFrame(() => { timer = setTimeout(() => setLater(op)); });
    return () => { cancelAnimationFrame(frame); clearTimeout(timer); };
  }, [op]);
  return later;
}

function App({ result }: { result: Result }) {
  const view = useView('op');
  const [op, problem] = useOperator(result, result.overview || result.byId.has(view.op) ? view.op : 0);
  const later = useLater(op);
  // Drawn once: they look after themselves when what is looked at changes.
  const header = useMemo(() => <Header result={result} />, [result]);
  const curve = useMemo(() => (result.is_comparison
    ? <Curve result={result} title="Where the runs part" hint="The worst error of each operator's outputs, divided by its tolerance, in the order of execution. Click a point to look at the operator." unit="error ÷ tolerance" withLimit />
    : <Curve result={result} title="Norms" hint="The L2 norm of each operator's outputs in the order of execution; NaN and infinities are at the top." unit="L2 norm" measure={normOf} floor={1e-6} withLimit={false} />), [result]);
  const ranks = useMemo(() => result.is_comparison && <Ranks result={result} />, [result]);
  const modules = useMemo(() => <Modules result={result} title="Modules and steps" hint={result.is_comparison ? 'The worst error ÷ tolerance in each module: pale is within the tolerance, black is NaN or infinity, hatched is missing.' : 'The largest L2 norm in each module; black has NaN or infinity.'} measure={result.is_comparison ? undefined : normOf} range={result.is_comparison ? undefined : [1e-3, 1e5]} />, [result]);
  const health = useMemo(() => !result.is_comparison && <Health result={result} />, [result]);
  const places: [string, string][] = [['curve', result.is_comparison ? 'Errors' : 'Norms'], ['modules', 'Modules'], ['operator', 'Operator'], ['graph', 'Graph'], ['table', 'Table']];
  return (
    <>
      <a class="skip" href="#table">Skip to the table</a>
      <div class="bar"><span class="brand">opdump</span>
        <nav aria-label="Parts of the page">{places.map(([id, name]) => <a key={id} href={`#${id}`} onClick={(event) => { event.preventDefault(); document.getElementById(id)?.scrollIntoView(); }}>{name}</a>)}</nav>
        <ThemeButton /></div>
      <main>
        {header}
        {curve}
        {problem && <p class="failure" role="alert">{problem}</p>}
        <OperatorPage result={result} op={op} />
        {ranks}
        {health}
        <div class="columns">
          {modules}
          <LocalGraph result={result} op={later} />
        </div>
        <OperatorTable result={result} chosen={view.op || (op?.id ?? 0)} />
      </main>
      <footer>Made by opdump {String(result.about.opdump_version ?? '')}{result.about.command ? <> with <code>{String(result.about.command)}</code></> : null}{typeof result.about.created_us === 'number' ? `, ${new Date(result.about.created_us / 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC` : ''}.</footer>
    </>
  );
}

// What prints a page by a command prints what is there at its load event, which waits for an open document in a frame.
function holdLoadEvent(): () => void {
  const frame = document.createElement('iframe');
  frame.hidden = true;
  document.body.append(frame);
  frame.contentDocument?.open();
  return () => { frame.contentDocument?.close(); frame.remove(); };
}

const root = document.getElementById('app')!;
const release = isServed() ? () => undefined : holdLoadEvent();
loadRaw().then((raw) => {
  const result = readResult(raw);
  document.title = `${result.firstBad ? result.firstBad.name : String(result.about.outcome ?? 'result')} – opdump`;
  root.replaceChildren();
  render(<App result={result} />, root);
}).catch((error: Error) => {
  const message = document.createElement('p');
  message.className = 'failure';
  message.setAttribute('role', 'alert');
  message.textContent = `The data of this page cannot be read: ${error.message}`;
  root.replaceChildren(message);
}).finally(release);
