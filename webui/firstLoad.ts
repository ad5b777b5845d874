// Refuses a build whose first page would load too much: its scripts and styles, each compressed by gzip.

import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

const MOST_BYTES = 260_000;

export function firstLoad(): Plugin {
  return {
    name: 'first-load',
    apply: 'build',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        const files = new Set<string>();
        const take = (name: string) => {
          const chunk = bundle[name];
          if (files.has(name) || chunk?.type !== 'chunk') return;
          files.add(name);
          for (const style of chunk.viteMetadata?.importedCss ?? []) files.add(style);
          for (const imported of chunk.imports) take(imported);
        };
        for (const [name, file] of Object.entries(bundle)) {
          if (file.type === 'chunk' && file.isEntry) take(name);
        }
        const bytes = [...files].reduce((sum, name) => {
          const file = bundle[name];
          return sum + (file ? gzipSync(file.type === 'chunk' ? file.code : file.source).length : 0);
        }, 0);
        this.info(`first load: ${Math.ceil(bytes / 1000)} kB by gzip, of ${MOST_BYTES / 1000} kB`);
        if (bytes > MOST_BYTES) {
          this.error(
            `The first page would load ${Math.ceil(bytes / 1000)} kB of scripts and styles by gzip; ` +
              `expected at most ${MOST_BYTES / 1000} kB. Load what it does not show with \`import()\`.`,
          );
        }
      },
    },
  };
}
