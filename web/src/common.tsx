// Small pieces that every part of the page uses.
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Result } from './data';
import { middle, nameParts, shellText } from './format';
import { toneOf, wordOf } from './judge';

export const Verdict = ({ verdict }: { verdict: string }) =>
  verdict === '' ? null : <span class={`chip ${toneOf(verdict)}`}>{wordOf(verdict)}</span>;

export function Name({ name, most = 64 }: { name: string; most?: number }) {
  const [module, operator] = nameParts(name);
  return <span class="name" title={name}><span class="soft">{middle(module, Math.max(8, most - operator.length))}</span>{middle(operator, most)}</span>;
}

export function Section(props: { id: string; title: string; hint?: ComponentChildren; class?: string; children: ComponentChildren }) {
  return (
    <section id={props.id} class={`card ${props.class ?? ''}`} aria-labelledby={`${props.id}-title`}>
      <h2 id={`${props.id}-title`}>{props.title}</h2>
      {props.hint && <p class="hint">{props.hint}</p>}
      {props.children}
    </section>
  );
}

export function Copy({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <div class="copy">
      <pre tabIndex={0} role="group" aria-label={label}><code>{text}</code></pre>
      {navigator.clipboard && <button type="button" class="small" onClick={copy} aria-label={`Copy: ${label}`}>{done ? 'Copied' : 'Copy'}</button>}
    </div>
  );
}

// The command that gives the same in a shell: `verb` of the dumps that were looked at, or of one side.
export function InShell({ result, verb, options = '', side = '' }: { result: Result; verb: string; options?: string; side?: string }) {
  const dumps = (side ? [result.about[side]] : [result.about.golden, result.about.actual]).filter((path) => typeof path === 'string' && path !== '').map((path) => shellText(String(path)));
  return <p class="shell soft">In a shell: <code class="breaks">opdump {[verb, ...dumps, options].filter(Boolean).join(' ')}</code></p>;
}

// The width of what is in an element, and that it changed. Known before anything is shown: a page that is printed at once, or
// that nobody looks at, has few frames.
export function useWidth<T extends HTMLElement>(): [{ current: T | null }, number] {
  const element = useRef<T>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measured = element.current;
    if (!measured) return undefined;
    const { paddingLeft, paddingRight } = getComputedStyle(measured);
    setWidth(Math.floor(measured.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)));
    const observer = new ResizeObserver((entries) => setWidth(Math.floor(entries[0].contentRect.width)));
    observer.observe(measured);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

// Changes when the colours do.
export function useTheme(): string {
  const [theme, setTheme] = useState(themeNow());
  useEffect(() => {
    const update = () => setTheme(themeNow());
    const query = matchMedia('(prefers-color-scheme: dark)');
    query.addEventListener('change', update);
    const observer = new MutationObserver(update);
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => { query.removeEventListener('change', update); observer.disconnect(); };
  }, []);
  return theme;
}

export const themeNow = (): string =>
  document.documentElement.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// What can be read on heat(): the darker or the lighter ink.
export function heatInk(share: number, theme: string): string {
  const linear = heat(share, theme).match(/\d+/g)!.map(Number).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18 ? '#000' : '#fff';
}

// From nothing to the largest error: colours that differ in lightness, too.
export function heat(share: number, theme: string): string {
  const t = Math.max(0, Math.min(1, share));
  const stops = theme === 'dark'
    ? [[36, 41, 50], [70, 52, 110], [176, 58, 92], [240, 130, 60], [255, 226, 130]]
    : [[241, 242, 240], [250, 214, 140], [240, 140, 70], [200, 50, 60], [92, 15, 50]];
  const at = t * (stops.length - 1), i = Math.min(stops.length - 2, Math.floor(at));
  return `rgb(${stops[i].map((from, c) => Math.round(from + (stops[i + 1][c] - from) * (at - i))).join(' ')})`;
}
