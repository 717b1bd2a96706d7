// Several ranks: which operators go wrong on which of them.
import { useMemo } from 'preact/hooks';
import type { Operator, RankRow, Result } from './data';
import { heat, heatInk, Section, useTheme } from './common';
import { middle, nameParts, short } from './format';
import { errorOf, ranksOf } from './judge';
import { setView } from './store';

const mostRows = 40;

// What ranks do together: these move an error from one of them to the others.
const isCollective = (op: Operator): boolean => /all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|broadcast|hcom|c10d|allreduce/i.test(op.type);

interface Row extends Omit<RankRow, 'cells'> { key: string; worst: number; cells: Map<number, { id: number; value: number }> }

function rowsOf(result: Result, measure: (op: Operator) => number): Row[] {
  const found = new Map<string, Row>();
  for (const op of result.operators) {
    const key = `${op.step} ${op.name}`;
    const row = found.get(key) ?? { key, name: op.name, step: op.step, collective: isCollective(op), worst: 0, cells: new Map() };
    const value = measure(op);
    row.cells.set(op.rank, { id: op.id, value });
    if (value > row.worst) row.worst = value;
    found.set(key, row);
  }
  return [...found.values()].sort((a, b) => Number(b.collective && b.worst > 1) - Number(a.collective && a.worst > 1) || b.worst - a.worst).slice(0, mostRows);
}

const servedRows = (result: Result): Row[] => result.rankRows.map(({ name, step, collective, cells }) => ({
  key: `${step} ${name}`, name, step, collective, worst: cells.reduce((worst, cell) => (cell.value > worst ? cell.value : worst), 0), cells: new Map(cells.map(({ rank, id, value }) => [rank, { id, value }])),
}));

export function Ranks({ result, measure = errorOf }: { result: Result; measure?: (op: Operator) => number }) {
  const theme = useTheme();
  const ranks = useMemo(() => ranksOf(result).sort((a, b) => a - b).slice(0, 64), [result]);
  const rows = useMemo(() => (ranks.length < 2 ? [] : result.overview ? servedRows(result) : rowsOf(result, measure)), [result]);
  if (rows.length === 0) return null;
  const high = rows.reduce((most, row) => (Number.isFinite(row.worst) && row.worst > most ? row.worst : most), 10);
  const share = (value: number) => (value > 0 ? Math.log(value) / Math.log(high) : 0);
  return (
    <Section id="ranks" title="Ranks and operators" hint="The operators with the largest errors, and on which ranks. Collectives come first: they carry an error from one rank to the others.">
      <div class="scroll tall" tabIndex={0} role="region" aria-label="Errors by operator and rank">
        <table class="heat"><thead><tr><th scope="col">operator</th>{ranks.map((rank) => <th scope="col" class="number" key={rank}>rank {rank}</th>)}</tr></thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.key}><th scope="row" title={row.name}>{row.collective && <span class="chip info">collective</span>} {middle(nameParts(row.name)[1], 40)} <span class="soft">step {row.step}</span></th>
                {ranks.map((rank) => {
                  const cell = row.cells.get(rank);
                  if (!cell) return <td key={rank} class="cell hatched"><span class="unseen">not executed</span></td>;
                  const nan = cell.value === Infinity, unknown = Number.isNaN(cell.value);
                  return (
                    <td key={rank} class={nan ? 'cell nan' : 'cell'}>
                      <button type="button" aria-label={`${row.name}, rank ${rank}: ${unknown ? 'not measured' : nan ? 'NaN/Inf' : short(cell.value)}`} onClick={() => setView({ op: cell.id, slot: 0 })}
                        ref={(element) => { if (element) { element.style.background = nan || unknown ? '' : heat(share(cell.value), theme); element.style.color = nan || unknown ? '' : heatInk(share(cell.value), theme); } }}>{unknown ? '' : nan ? 'NaN/Inf' : short(cell.value)}</button></td>
                  );
                })}
              </tr>
            ))}
          </tbody></table>
      </div>
    </Section>
  );
}
