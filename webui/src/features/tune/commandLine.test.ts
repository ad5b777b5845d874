import { expect, it } from 'vitest';
import { space } from '../../test/records';
import { commandLine } from './commandLine';

it('says the same as the specification, quoted for a shell', () => {
  const command = commandLine(
    'tune',
    {
      preset: 'quick',
      target: 'core',
      workload: 'specweb99',
      objective: 'mat: p999 <= 4ms',
      second_objective: 'rss',
      seed: 3,
      knobs: { workers: { high: 8 }, sendfile: { choices: ['blocking', 'off'] }, backlog: { fixed: 64 } },
      settings: { learn: true, constraints: ['rss <= 500MB'] },
    },
    space,
    "/etc/o'clock.conf",
  );
  expect(command).toBe(
    `trimtab tune --preset quick --target core --base '/etc/o'\\''clock.conf' --workload specweb99 ` +
      `--objective 'mat: p999 <= 4ms' --second-objective rss --seed 3 --knob workers=1:8 ` +
      `--knob sendfile=blocking,off --knob backlog=64 --set learn=true ` +
      `--set 'constraints=["rss <= 500MB"]'`,
  );
});

it('says that the kernel is tuned too', () => {
  expect(commandLine('tune', { preset: 'quick', target: 'core', kernel: true }, space, '')).toBe(
    'trimtab tune --kernel --preset quick --target core',
  );
});

it('measures the capacity by a command of its own, which needs no preset', () => {
  const spec = { preset: 'capacity', target: 'nginx', workload: 'specweb99', knobs: {}, settings: {} };
  expect(commandLine('capacity', spec, space, '/etc/nginx/nginx.conf')).toBe(
    'trimtab capacity --target nginx --base /etc/nginx/nginx.conf --workload specweb99',
  );
});
