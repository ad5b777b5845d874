import { cleanup, screen, within } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { RankedConfiguration } from '../../api/generated';
import { figureNamed } from '../../test/figures';
import { defaultConfiguration, outcome, performance, run, trial } from '../../test/records';
import { renderInApp } from '../../test/render';
import { OutcomePanel } from './OutcomePanel';

const best = trial(2, { score: 800, configuration: { ...defaultConfiguration, workers: 4 } });

it('while the search goes on, says the best so far and that it has no interval yet', async () => {
  await renderInApp(<OutcomePanel run={run()} standard={trial(1, { score: 500 })} best={best} />);
  expect(screen.getByText('+60 %')).toBeVisible();
  expect(screen.getByText('no interval yet')).toBeVisible();
  expect(screen.getByText('workers=4')).toBeVisible();
  expect(screen.queryByText('backlog=1024')).toBeNull();
});

it('at the end shows the configuration, the gain with its interval, and the sentence', async () => {
  await renderInApp(<OutcomePanel run={run({ outcome: outcome() })} standard={trial(1)} best={best} />);
  expect(screen.getByText('workers=4 gains 23 % over the default.')).toBeVisible();
  expect(screen.getByText('Configuration to use').parentElement).toHaveTextContent('workers=4');
  expect(figureNamed('Capacity')).toHaveTextContent('+23 %95 % interval +20 % to +26 %');
  expect(screen.getByText(/^In score/)).toHaveTextContent('+23 %95 % interval +20 % to +26 %');
});

it('tells each main figure before and after, with both intervals', async () => {
  await renderInApp(<OutcomePanel run={run({ outcome: outcome() })} standard={trial(1)} best={best} />);
  expect(figureNamed('Capacity')).toHaveTextContent(/before 5,200 requests\/s→after 9,200 requests\/s\+23 %/);
  expect(figureNamed('Capacity')).toHaveTextContent(
    /before5,000 requests\/s to 5,400 requests\/safter9,000 requests\/s to 9,400 requests\/s$/,
  );
  expect(figureNamed('Latency p99 at 5,000 requests/s')).toHaveTextContent(
    /before 3\.10 ms→after 3\.10 msno change/,
  );
  expect(figureNamed('CPU per 1,000 requests at 5,000 requests/s')).toHaveTextContent('after 120 ms');
  expect(figureNamed('Memory at its peak (PSS)')).toHaveTextContent('after 48.0 MB');
});

it('lists what each setting gives, and what was found worth nothing', async () => {
  const kept = {
    knob: 'workers',
    value: 4,
    default: 1,
    kept: true,
    setting: 'workers 4',
    told: '+23 % (+20 % to +26 %)',
  };
  const dropped = {
    ...{ knob: 'sendfile', value: 'off', default: 'nonblocking', kept: false },
    ...{ setting: 'sendfile off', told: 'no effect, left at nonblocking' },
  };
  const ended = { ...outcome(), effects: [kept, dropped] };
  await renderInApp(<OutcomePanel run={run({ outcome: ended })} standard={trial(1)} best={best} />);
  const rows = within(screen.getByRole('table', { name: 'What each setting gives' })).getAllByRole('row');
  expect(rows.map((row) => row.textContent)).toEqual([
    'SettingWhat it gives',
    'workers 4+23 % (+20 % to +26 %)',
    'sendfile offno effect, left at nonblocking',
  ]);
});

it('marks what the recommended configuration costs more than the default, as far as it is told from chance', async () => {
  const ended = outcome();
  const [first, second] = ended.ranking as [RankedConfiguration, RankedConfiguration];
  const hungry = performance(9200, { memory_bytes: { mean: 96e6, low: 95e6, high: 97e6 } });
  const ranking = [{ ...first, performance: hungry }, second];
  await renderInApp(
    <OutcomePanel run={run({ outcome: { ...ended, ranking } })} standard={trial(1)} best={best} />,
  );
  expect(figureNamed(/^Memory/)).toHaveTextContent(/\+100\s%takes more/);
  expect(figureNamed(/^CPU/)).not.toHaveTextContent('costs more');
});

it('does not say again in words what the figures say', async () => {
  const ended = outcome({ sentence: 'It takes 9,200. Twice as good.', beyond_figures: 'Twice as good.' });
  await renderInApp(<OutcomePanel run={run({ outcome: ended })} standard={trial(1)} best={best} />);
  expect(screen.getByText('Twice as good.')).toBeVisible();
  expect(screen.queryByText(/It takes 9,200/)).toBeNull();
});

it('tells the gain in capacity once above the table', async () => {
  await renderInApp(<OutcomePanel run={run({ outcome: outcome() })} standard={trial(1)} best={best} />);
  expect(screen.queryByText('Gain over the default')).toBeNull();
  const table = screen.getByRole('table', { name: 'What the finalists do' });
  const before = screen
    .getAllByText('+23 %')
    .filter((one) => !table.contains(one) && !one.closest('p')?.textContent?.startsWith('In score'));
  expect(before).toHaveLength(1);
});

it('tells a gain of the search that was not confirmed as such', async () => {
  const open = outcome({ confirmed: false });
  await renderInApp(<OutcomePanel run={run({ outcome: open })} standard={trial(1)} best={best} />);
  expect(figureNamed('Gain over the default')).toHaveTextContent('not confirmed');
});

it('tells the gain in score once', async () => {
  const ended = outcome({ beyond_figures: 'In score workers=4 gains +23 % (95 % interval +20 % to +26 %).' });
  await renderInApp(<OutcomePanel run={run({ outcome: ended })} standard={trial(1)} best={best} />);
  expect(screen.getAllByText(/In score/)).toHaveLength(1);
});

it('says that a difference may be chance only where the intervals overlap', async () => {
  const ended = outcome();
  const [first, second] = ended.ranking as [RankedConfiguration, RankedConfiguration];
  const faster = performance(9200, {
    p99_us: { mean: 1000, low: 900, high: 1100 },
    memory_bytes: { mean: 48.5e6, low: 47e6, high: 50e6 },
  });
  const ranking = [{ ...first, performance: faster }, second];
  await renderInApp(
    <OutcomePanel run={run({ outcome: { ...ended, ranking } })} standard={trial(1)} best={best} />,
  );
  expect(figureNamed(/^Latency p99/)).toHaveTextContent('-68 %');
  expect(figureNamed(/^Latency p99/)).not.toHaveTextContent('could be chance');
  expect(figureNamed(/^Memory/)).toHaveTextContent('could be chance');
});

it('says rightly why a difference is not told from chance, and nothing where nothing changed', async () => {
  const ended = outcome();
  const [first, second] = ended.ranking as [RankedConfiguration, RankedConfiguration];
  const cpu = { cpu_s_per_1000_requests: { mean: 0.05, low: 0.04, high: 0.06 } };
  const shown = async (blocks: number) => {
    const ranking = [
      {
        ...first,
        performance: performance(9200, { ...cpu, blocks, p99_us: { mean: 1000, low: 900, high: 1100 } }),
      },
      {
        ...second,
        performance: performance(5200, { ...cpu, blocks, p99_us: { mean: 90_000, low: null, high: null } }),
      },
    ];
    await renderInApp(
      <OutcomePanel run={run({ outcome: { ...ended, ranking } })} standard={trial(1)} best={best} />,
    );
  };
  await shown(5);
  expect(figureNamed(/^Latency p99/)).toHaveTextContent('the repeats differ too much to tell it from chance');
  expect(figureNamed(/^CPU/)).toHaveTextContent('no change');
  expect(figureNamed(/^CPU/)).not.toHaveTextContent('chance');
  cleanup();
  await shown(1);
  expect(figureNamed(/^Latency p99/)).toHaveTextContent('too few repeats to tell it from chance');
});

it('has every figure of every finalist in a table, the recommended one on top', async () => {
  await renderInApp(<OutcomePanel run={run({ outcome: outcome() })} standard={trial(1)} best={best} />);
  const table = screen.getByRole('table', { name: 'What the finalists do' });
  const [, first, second] = within(table).getAllByRole('row');
  expect(first).toHaveTextContent(/^recommendedworkers=4/);
  expect(first).toHaveTextContent('9,200 requests/s9,000 requests/s to 9,400 requests/s');
  expect(second).toHaveTextContent(/^default–5,200 requests\/s/);
});

it('explains an interval of more than 95 % where it stands', async () => {
  const gain = {
    gain: 0.2,
    low: 0.1,
    high: 0.3,
    significant: true,
    says_nothing: false,
    blocks: 4,
    confidence: 1 - 0.05 / 3,
  };
  await renderInApp(
    <OutcomePanel
      run={run({ outcome: outcome({ gain, capacity_gain: gain }) })}
      standard={trial(1)}
      best={best}
    />,
  );
  expect(screen.getByText(/^98\.3 % interval: 3 configurations were compared/)).toBeVisible();
});

it('says `at least` where nothing was met that it does not follow', async () => {
  const ended = outcome();
  const [first, second] = ended.ranking as [RankedConfiguration, RankedConfiguration];
  const gain = {
    gain: 0.77,
    low: 0.7,
    high: null,
    significant: true,
    says_nothing: false,
    blocks: 4,
    confidence: 0.95,
  };
  const open = performance(9200, {
    at_least: true,
    capacity_rps: { mean: 9200, low: 9000, high: null },
    capacity_gain: gain,
  });
  const ranking = [{ ...first, performance: open }, second];
  const bounded = { ...ended, ranking, capacity_gain: gain, capacity_at_least: true };
  await renderInApp(<OutcomePanel run={run({ outcome: bounded })} standard={trial(1)} best={best} />);
  const capacity = figureNamed('Capacity');
  expect(capacity).toHaveTextContent('after at least 9,200 requests/s');
  expect(capacity).toHaveTextContent('from 9,000 requests/s');
  // Among the changes and in the table.
  expect(screen.getAllByText('at least +77 %')).toHaveLength(2);
  expect(screen.getAllByText('95 % interval from +70 %')).toHaveLength(2);
});

it('has no before and after where the default is kept', async () => {
  const ended = outcome({ best: defaultConfiguration });
  await renderInApp(<OutcomePanel run={run({ outcome: ended })} standard={trial(1)} best={undefined} />);
  const capacity = figureNamed('Capacity');
  expect(capacity).toHaveTextContent('5,200 requests/s5,000 requests/s to 5,400 requests/s');
  expect(screen.queryByText('before')).toBeNull();
  expect(screen.getByText('none shown')).toBeVisible();
});

it('says so when a gain could be chance or was not confirmed', async () => {
  const gain = {
    gain: 0.01,
    low: -0.05,
    high: 0.07,
    significant: false,
    says_nothing: false,
    blocks: 4,
    confidence: 0.95,
  };
  await renderInApp(
    <OutcomePanel
      run={run({ outcome: outcome({ gain, capacity_gain: null, confirmed: false, ranking: [] }) })}
      standard={undefined}
      best={undefined}
    />,
  );
  expect(screen.getByText(/could be chance/)).toBeVisible();
  expect(screen.getByText('not confirmed')).toBeVisible();
});

it('refers to the sentence where no gain is known', async () => {
  const untold = outcome({ gain: null, capacity_gain: null });
  await renderInApp(<OutcomePanel run={run({ outcome: untold })} standard={trial(1)} best={best} />);
  const gain = figureNamed('Gain over the default');
  expect(gain).toHaveTextContent('the sentence below says why');
  expect(screen.queryByText(/^In score/)).toBeNull();
});

it('tells two compared files by path, the verdict on the new one, and each in a row', async () => {
  const ended = outcome({ sentence: 'The new file loses more than 7 % of it.' });
  const gain = {
    gain: -0.3,
    low: -0.35,
    high: -0.25,
    significant: true,
    says_nothing: false,
    blocks: 6,
    confidence: 0.95,
  };
  const files = {
    old: '/etc/nginx/nginx.conf',
    new: '/srv/new.conf',
    loss: { verdict: 'lost', most_loss: 0.07, gain, follows_nothing: false },
  } as const;
  const compared = run({ preset: 'compare', outcome: { ...ended, files } });
  await renderInApp(<OutcomePanel run={compared} standard={trial(1)} best={best} />);
  expect(figureNamed('Loss of capacity')).toHaveTextContent('more than allowed7 % allowed');
  expect(figureNamed('New over old')).toHaveTextContent('-30 %95 % interval -35 % to -25 %');
  expect(figureNamed('Old file')).toHaveTextContent('/etc/nginx/nginx.conf');
  const [head, first, second] = within(
    screen.getByRole('table', { name: 'What the finalists do' }),
  ).getAllByRole('row');
  expect(head).toHaveTextContent('More load than the old file');
  expect(first).toHaveTextContent(/^old file/);
  expect(second).toHaveTextContent(/^new file/);
  expect(screen.queryByText(/recommended/)).toBeNull();
});

it('tells what server and kernel gain alone and together', async () => {
  const cell = (gain: number, at_least = false) => {
    const told = {
      gain,
      low: gain - 0.02,
      high: gain + 0.02,
      significant: true,
      says_nothing: false,
      blocks: 4,
      confidence: 0.95,
    };
    return { configuration_hash: 'x', gain: told, capacity_gain: told, at_least };
  };
  const factorial = {
    server: cell(0.2),
    kernel: cell(0.05),
    both: cell(0.26, true),
    interaction: null,
    sentence: 'Told.',
  };
  await renderInApp(
    <OutcomePanel run={run({ outcome: outcome({ factorial }) })} standard={trial(1)} best={best} />,
  );
  const rows = within(screen.getByRole('table', { name: 'Gains of server and kernel' })).getAllByRole('row');
  expect(rows[1]).toHaveTextContent(/^Server alone\+20 %/);
  expect(rows[2]).toHaveTextContent(/^Kernel alone\+5\.0 %/);
  expect(rows[3]).toHaveTextContent(/^Bothat least \+26 %/);
});
