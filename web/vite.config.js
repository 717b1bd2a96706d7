// One HTML file, and from it page_asset.cc for the program. OPDUMP_PAGE_CC names that file.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

const digest = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

// Only the scripts and styles of this build may run. The data is no script.
function withPolicy(html) {
  const inner = (pattern) => [...html.matchAll(pattern)].map((found) => digest(found[1])).join(' ');
  const scripts = inner(/<script type="module"[^>]*>([\s\S]*?)<\/script>/g);
  const styles = inner(/<style[^>]*>([\s\S]*?)<\/style>/g);
  const policy = `default-src 'none'; script-src ${scripts}; style-src ${styles}; img-src data:; connect-src 'none'; base-uri 'none'; form-action 'none'`;
  return html.replace('<meta charset="utf-8">', `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${policy}">`);
}

// Octal escapes have a fixed length, and no byte of the text means anything to the compiler.
const escaped = (bytes) =>
  Array.from(bytes, (byte) =>
    byte === 34 || byte === 92 || byte === 63 || byte < 32 || byte > 126
      ? '\\' + byte.toString(8).padStart(3, '0')
      : String.fromCharCode(byte)).join('');

function asSource(html) {
  const bytes = Buffer.from(html);
  const lines = [];
  for (let at = 0; at < bytes.length; at += 2000) lines.push(`    "${escaped(bytes.subarray(at, at + 2000))}"`);
  return `#include "result/page.h"\n\nnamespace opdump::result {\n\nstd::string_view page_asset() {\n  return {\n${lines.join('\n')},\n      ${bytes.length}};\n}\n\n}  // namespace opdump::result\n`;
}

const pageAsset = {
  name: 'opdump-page',
  enforce: 'post',
  writeBundle(options) {
    const file = `${options.dir}/index.html`;
    const html = withPolicy(readFileSync(file, 'utf8'));
    writeFileSync(file, html);
    if (process.env.OPDUMP_PAGE_CC) writeFileSync(process.env.OPDUMP_PAGE_CC, asSource(html));
  },
};

export default defineConfig({
  base: './',
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  build: { target: 'es2022', outDir: process.env.OPDUMP_PAGE_DIR ?? 'dist', emptyOutDir: true, assetsInlineLimit: 1e8, modulePreload: false },
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), pageAsset],
});
