// What the configurations do in people's terms: how much load they follow, how fast they answer, what that costs.

import { Table } from '@mantine/core';
import type { Figure as Interval, Performance } from '../../api/generated';
import { IntervalBars } from '../../charts/IntervalBars';
import { Figure } from '../../components/Figure';
import { GainText } from '../../components/GainText';
import { formatCpu, formatMbps, formatMegabytes, formatMicroseconds, formatRate } from '../../maths/format';
import { intervalText, leastText } from '../../maths/intervals';
import { type Finalist, TOLD, type Told } from './finalists';
import classes from './Run.module.css';

interface HeadlineProps {
  own: Performance;
  /** What it is compared with, where that is another one. */
  standard?: Performance | undefined;
}

/** The main figures of one configuration, each beside the default's. */
export function Headline({ own, standard }: HeadlineProps) {
  const at = own.load_rps == null ? '' : ` at ${formatRate(own.load_rps)}`;
  const beside = (figure: Interval | null | undefined, format: (value: number) => string) =>
    figure ? `the default ${format(figure.mean)}` : undefined;
  const costs = [
    { label: `Latency p99${at}`, of: (one: Performance) => one.p99_us, format: formatMicroseconds },
    {
      label: `CPU per 1,000 requests${at}`,
      of: (one: Performance) => one.cpu_s_per_1000_requests,
      format: formatCpu,
    },
    {
      label: 'Memory at its peak (PSS)',
      of: (one: Performance) => one.memory_bytes,
      format: formatMegabytes,
    },
  ];
  return (
    <>
      <Figure
        label="Follows"
        value={
          own.capacity_rps
            ? leastText(own.at_least) + formatRate(own.capacity_rps.mean)
            : 'none of the rates driven'
        }
        detail={
          standard
            ? beside(standard.capacity_rps, formatRate)
            : own.capacity_rps && intervalText(own.capacity_rps, formatRate)
        }
      />
      {own.capacity_gain && (
        <Figure
          label="More load than the default"
          value={<GainText gain={own.capacity_gain} atLeast={own.at_least} />}
        />
      )}
      {costs.map(({ label, of, format }) => {
        const figure = of(own);
        return (
          figure && (
            <Figure
              key={label}
              label={label}
              value={format(figure.mean)}
              detail={standard && beside(of(standard), format)}
            />
          )
        );
      })}
    </>
  );
}

/** How much load each finalist follows, as bars with their intervals. */
export function CapacityBars({ of }: { of: readonly Finalist[] }) {
  const bars = of.flatMap(({ name, performance, style }) => {
    const { capacity_rps, at_least } = performance;
    if (!capacity_rps) return [];
    const { mean: value, low = null, high = null } = capacity_rps;
    return [{ name, value, low, high, atLeast: at_least ?? false, style }];
  });
  return bars.length === 0 ? null : (
    <>
      <h3 className={classes.chartTitle}>Load that each follows, with 95 % intervals</h3>
      <IntervalBars
        label="Requests per second followed"
        nameOf="Configuration"
        bars={bars}
        format={formatRate}
      />
    </>
  );
}

/** Every figure of every finalist. */
export function PeopleTable({ of }: { of: readonly Finalist[] }) {
  const load = of.find(({ performance }) => performance.load_rps != null)?.performance.load_rps;
  const known = TOLD.filter(({ figure }) => of.some(({ performance }) => figure(performance)));
  return (
    <Table.ScrollContainer minWidth={520} type="native" mt="md">
      <Table fz="sm" verticalSpacing={5} aria-label="What the finalists do">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Mean, 95 % interval</Table.Th>
            {of.map(({ name, differs }) => (
              <Table.Th key={name} ta="right" className={classes.finalist}>
                {name}
                {differs && <code>{differs}</code>}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {of.some(({ performance }) => performance.capacity_gain) && (
            <Table.Tr>
              <Table.Th scope="row" className={classes.told}>
                More load than the default
              </Table.Th>
              {of.map(({ name, performance: { capacity_gain: gain, at_least } }) => (
                <Table.Td key={name} ta="right">
                  {gain ? <GainText gain={gain} atLeast={at_least ?? false} /> : '–'}
                </Table.Td>
              ))}
            </Table.Tr>
          )}
          {known.map((told) => (
            <Table.Tr key={told.name}>
              <Table.Th scope="row" className={classes.told}>
                {told.name}
                {told.loaded && load != null && ` at ${formatRate(load)}`}
              </Table.Th>
              {of.map(({ name, performance }) => (
                <Table.Td key={name} ta="right">
                  <ToldCell told={told} performance={performance} />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
          <Table.Tr>
            <Table.Th scope="row" className={classes.told}>
              Score
            </Table.Th>
            {of.map(({ name, ranked }) => (
              <Table.Td key={name} ta="right">
                {formatMbps(ranked.mean_score_mbps)}
              </Table.Td>
            ))}
          </Table.Tr>
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function ToldCell({
  told: { figure, format, bounded },
  performance,
}: {
  told: Told;
  performance: Performance;
}) {
  const value = figure(performance);
  if (!value) return <>–</>;
  return (
    <>
      {bounded && leastText(performance.at_least)}
      {format(value.mean)}
      <span className={classes.interval}>{intervalText(value, format)}</span>
    </>
  );
}
