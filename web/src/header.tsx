// The answer, where in the program it is, and how both runs were made.
import type { Culprit, Operator, Result, Run } from './data';
import { Verdict } from './common';
import { countVerdicts, ranksOf, toneOf, wordOf } from './judge';
import { count, percent, plural, short } from './format';
import { setView, useView } from './store';

const confidenceWords: Record<string, string> = { certain: 'Certain', suspect: 'Suspect', cannot_tell: 'It may be this one' };

const causeWords: Record<string, string> = {
  own_error: 'own error', golden_at_fault: 'golden at fault', both: 'both at fault', argument: 'argument differs', input: 'input differs',
  overwritten: 'memory changed', random: 'random numbers differ', sequence: 'only in one run', unknown: 'not run again',
};

const sentence = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);

const outcomeWords: Record<string, [string, string]> = {
  differs: ['The runs differ', 'bad'],
  same: ['No difference', 'good'],
  incomplete: ['No difference found, but not everything could be compared', 'warn'],
  nothing_compared: ['Nothing was compared', 'odd'],
  recorded: ['One recording', 'info'],
};

export function Source({ op, sources }: { op: Operator; sources: Map<string, string> }) {
  const calls = op.stack.length > 0 ? op.stack : op.source ? [op.source] : [];
  if (calls.length === 0) return null;
  return (
    <ol class="calls" tabIndex={0} aria-label="The calls that led to it, innermost first">
      {calls.map((call) => {
        const found = /^(.*?:\d+)(?::(.*))?$/.exec(call);
        const place = found?.[1] ?? call;
        const code = sources.get(place)?.trim();
        return <li key={call}><span class="place">{place}{found?.[2] ? <span class="soft"> in {found[2]}</span> : null}</span>{code && <code>{code}</code>}</li>;
      })}
    </ol>
  );
}

const factOf = (run: Run, name: string): string => run.facts.find(([key]) => key === name)?.[1] ?? '';

// Ranks of one side may differ from each other, as their seeds do.
function differsBetweenSides(runs: Run[], name: string): boolean {
  const actual = new Map(runs.filter((run) => run.side === 'actual').map((run) => [run.rank, run]));
  return runs.some((run) => run.side === 'golden' && actual.has(run.rank) && factOf(run, name) !== factOf(actual.get(run.rank)!, name));
}

function RunTable({ result }: { result: Result }) {
  const runs = result.runs;
  const names = [...new Set(runs.flatMap((run) => run.facts.map(([name]) => name)))];
  if (names.length === 0) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="How the runs were recorded">
      <table class="facts">
        <thead><tr><th scope="col"><span class="unseen">property</span></th>{runs.map((run, i) => <th scope="col" key={i}>{[result.is_comparison ? run.side : '', runs.length > (result.is_comparison ? 2 : 1) ? `rank ${run.rank}` : ''].join(' ').trim() || 'dump'}</th>)}</tr></thead>
        <tbody>
          {names.map((name) => {
            const differs = result.is_comparison && !['dump', 'run', 'recorded', 'took', 'configuration'].includes(name) && differsBetweenSides(runs, name);
            return <tr key={name} class={differs ? 'differs' : ''}><th scope="row">{name}{differs && <span class="chip warn">differs</span>}</th>{runs.map((run, i) => <td key={i}>{factOf(run, name)}</td>)}</tr>;
          })}
        </tbody>
      </table>
    </div>
  );
}

// As numpy.testing and torch.testing would say it.
function leadOf(result: Result, bad: Operator): string {
  const why = String(result.about.conclusion).split(' — ').slice(1).join(' — ');
  const slot = bad.key;
  if (!result.is_comparison || !slot || !(slot.mismatch > 0)) return why;
  const position = result.details.get(slot.id)?.worst[0]?.position;
  return `${why.replace(/,? ?output(\.\d+)? differs \(.*?\)/, '')}; ${slot.name} differs in ${count(slot.mismatch)} of ${count(slot.elements)} elements (${percent(slot.mismatch, slot.elements)}), most${position ? ` at ${position}` : ''}: ${short(slot.worstGolden)} in golden, ${short(slot.worstActual)} in actual`;
}

const removedText = (culprit: Culprit): string => (Number.isFinite(culprit.removes) ? `; without it, ${Math.round(100 * culprit.removes)} % of the final error is gone` : '');

// What operators that ran again have shown: the culprit is the heading, the others are below.
function Blame({ result }: { result: Result }) {
  const [first, ...others] = result.culprits;
  if (!first) return <p class="lead">{sentence(String(result.about.blame))}.</p>;
  return (
    <>
      <p class="lead"><b>{confidenceWords[first.confidence] ?? first.confidence}</b>: it {first.text}{removedText(first)}.</p>
      {others.length > 0 && <details class="print-open"><summary>{plural(others.length, 'other culprit')}</summary><ul class="culprits">{others.map((culprit) => (
        <li key={culprit.id}><button type="button" class="link breaks" onClick={() => { setView({ op: culprit.id, slot: 0 }); document.getElementById('operator')?.scrollIntoView(); }}>{culprit.name}</button>
          <span class="soft"> step {culprit.step}{ranksOf(result).length > 1 && `, rank ${culprit.rank}`}</span><br />{confidenceWords[culprit.confidence] ?? culprit.confidence}: it {culprit.text}{removedText(culprit)}.</li>))}</ul></details>}
    </>
  );
}

export function Header({ result }: { result: Result }) {
  const view = useView('verdict', 'tolerance');
  const outcome = String(result.about.outcome ?? '');
  const bad = result.firstBad;
  const [words, tone] = bad && !result.is_comparison ? ['One recording, not all of it finite', 'bad'] : outcomeWords[outcome] ?? [outcome, 'odd'];
  // "first NaN: NAME (...": what the first one is, in the words of the program.
  const found = result.culprits.length > 0 ? 'culprit' : /^(first [^:]+): /.exec(String(result.about.conclusion ?? ''))?.[1] ?? 'first bad operator';
  const remarks = result.remarks.filter((remark) => remark.kind !== 'note');
  return (
    <header class={`card answer ${tone}`}>
      <p class="eyebrow"><span class={`dot ${tone}`} aria-hidden="true" />{words}</p>
      <h1>{bad ? <>{sentence(found)}: <span class="breaks">{bad.name}</span></> : String(result.about.conclusion ?? '')}</h1>
      {result.about.blame && <Blame result={result} />}
      {bad && result.culprits.length === 0 && <p class="lead">{leadOf(result, bad)}.</p>}
      {bad && <p class="tags">{result.culprits.length > 0 ? <span class="chip bad">{causeWords[result.culprits[0].cause] ?? result.culprits[0].cause}</span> : <Verdict verdict={bad.verdict} />}<span class="tag">{bad.type}</span>{bad.phase && <span class="tag">{bad.phase}</span>}<span class="tag">step {bad.step}</span>{ranksOf(result).length > 1 && <span class="tag">rank {bad.rank}</span>}
        <a class="jump" href="#operator" onClick={(event) => { event.preventDefault(); setView({ op: bad.id, slot: 0 }); document.getElementById('operator')?.scrollIntoView(); }}>Look at its tensors</a></p>}
      {bad && <Source op={bad} sources={result.sources} />}
      {result.is_comparison && (
        <div class="summary">
          <p>{String(result.about.coverage ?? '')}</p>
          <ul class="counts" aria-label="Operators by verdict">
            {countVerdicts(result, view.tolerance).map(([verdict, number]) => (
              <li key={verdict}><button type="button" class={`count ${toneOf(verdict)}`} aria-pressed={view.verdict === verdict}
                onClick={() => { setView({ verdict: view.verdict === verdict ? '' : verdict }); document.getElementById('table')?.scrollIntoView(); }}><b>{count(number)}</b> {wordOf(verdict)}</button></li>
            ))}
          </ul>
        </div>
      )}
      {remarks.length > 0 && <div class="remarks" role="note"><b>{plural(remarks.length, 'remark')}</b><ul>{remarks.slice(0, 20).map((remark, i) => <li key={i}><span class="soft">{remark.kind}:</span> {remark.text}</li>)}</ul></div>}
      <details><summary>How {result.is_comparison ? 'both runs were' : 'it was'} recorded</summary>
        <RunTable result={result} />
        {result.remarks.filter((remark) => remark.kind === 'note').map((remark, i) => <p key={i} class="hint">note: {remark.text}</p>)}
      </details>
    </header>
  );
}
