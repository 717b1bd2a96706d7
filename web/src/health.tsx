// One recording by itself: units that give nothing, and tensors at the end of their dtype's range.
import type { ComponentChildren } from 'preact';
import type { Result } from './data';
import { Name, Section } from './common';
import { count, percent, plural } from './format';
import { setView } from './store';

const open = (op: number, slot: number) => { setView({ op, slot }); document.getElementById('operator')?.scrollIntoView(); };

function Findings({ title, hint, none, head, rows }: { title: string; hint: string; none: string; head: string[]; rows: { key: string; name: string; op: number; slot: number; cells: ComponentChildren[] }[] }) {
  return (
    <figure class="chart"><figcaption>{title} <span class="soft">{hint}</span></figcaption>
      {rows.length === 0 ? <p class="empty">{none}</p> : (
        <div class="scroll short" tabIndex={0} role="region" aria-label={title}>
          <table class="numbers"><thead><tr><th scope="col">operator</th>{head.map((name) => <th scope="col" class="number" key={name}>{name}</th>)}</tr></thead>
            <tbody>{rows.map((row) => <tr key={row.key}><td><button type="button" class="link" onClick={() => open(row.op, row.slot)}><Name name={row.name} most={48} /></button></td>{row.cells.map((cell, i) => <td class="number" key={head[i]}>{cell}</td>)}</tr>)}</tbody></table>
        </div>
      )}
    </figure>
  );
}

export function Health({ result }: { result: Result }) {
  return (
    <Section id="health" title="Dead units and overflow">
      <div class="charts">
        <Findings title="Dead units" hint="of activations in the forward pass: 0 for the whole batch" none="Every unit of every activation gives something." head={['step', 'dead', 'share']}
          rows={result.deadUnits.map((one) => ({ key: String(one.id), name: one.name, op: one.id, slot: 0, cells: [one.step, `${count(one.dead)} of ${count(one.units)}`, percent(one.dead, one.units)] }))} />
        <Findings title="Overflow" hint="outputs with infinities, or beyond half of the largest value of their dtype" none="No output comes near the largest value of its dtype." head={['step', 'dtype', 'of the range']}
          rows={result.overflows.map((one) => ({ key: String(one.slot), name: `${one.name} ${one.slotName}`, op: one.id, slot: one.slot, cells: [one.step, one.dtype, one.infinities > 0 ? plural(one.infinities, 'infinite value') : percent(one.fullness, 1)] }))} />
      </div>
    </Section>
  );
}
