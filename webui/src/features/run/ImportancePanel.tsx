// How much of the differences between scores each knob explains, alone and in pairs.

import { Button, Table } from '@mantine/core';
import { useState } from 'react';
import type { Importance, Interaction } from '../../api/generated';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { ScrollTable } from '../../components/ScrollTable';
import { ShareBar } from '../../components/ShareBar';
import { cssColour, sequentialColour, textColourOn } from '../../maths/colourScale';
import { formatCount, formatNumber, formatPercent } from '../../maths/format';
import { scorePosition, scoreScale } from '../../maths/scoreScale';
import classes from './Run.module.css';

/** A model that predicts less of the variance than this says little about the knobs. */
const LITTLE = 0.5;

/** Values of knobs are whole numbers or words. */
const valueText = (value: number | string) => (typeof value === 'number' ? formatCount(value) : value);

const pairName = ({ knob_one, knob_two }: Interaction) => `${knob_one} with ${knob_two}`;

interface ImportancePanelProps {
  importance: Importance;
  /** Relative standard deviation of a single trial. */
  noise: number | null;
}

export function ImportancePanel({ importance, noise }: ImportancePanelProps) {
  const [chosen, setChosen] = useState<string>();
  const pair = importance.interactions.find((one) => pairName(one) === chosen) ?? importance.interactions[0];
  return (
    <Panel
      title="Importance"
      description={`How much of the variance of the score each knob explains alone, and pairs beyond that, over everything that was tried; what a setting of the recommendation brings, the outcome says. From ${formatCount(importance.trials)} verified trials; the model behind it predicts ${formatPercent(Math.max(0, importance.r_squared))} of the variance of trials it has not seen.`}
    >
      {importance.r_squared < LITTLE && (
        <div className={classes.caution}>
          <Message tone="warn" title="Take these shares with care.">
            The model behind them misses most of what sets trials apart.
          </Message>
        </div>
      )}
      <ScrollTable label="Importance of knobs and pairs">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Knob or pair</Table.Th>
            <Table.Th ta="right">Share</Table.Th>
            <Table.Th>
              <span className="visually-hidden">Bar</span>
            </Table.Th>
            <Table.Th>
              <span className="visually-hidden">Details</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {[
            ...importance.knobs.map(({ knob: name, share }) => ({ name, share, isPair: false })),
            ...importance.interactions.map((one) => ({
              name: pairName(one),
              share: one.share,
              isPair: true,
            })),
          ].map(({ name, share, isPair }) => (
            <Table.Tr key={name}>
              <Table.Td>
                <code>{name}</code>
              </Table.Td>
              <Table.Td ta="right">{formatPercent(share)}</Table.Td>
              <Table.Td w="40%">
                <ShareBar share={share} />
              </Table.Td>
              <Table.Td>
                {isPair && (
                  <Button
                    size="compact-xs"
                    variant={pair && name === pairName(pair) ? 'filled' : 'default'}
                    aria-pressed={pair !== undefined && name === pairName(pair)}
                    aria-label={`Scores over ${name}`}
                    onClick={() => setChosen(name)}
                  >
                    Scores
                  </Button>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
      {pair && <PairTable pair={pair} noise={noise} />}
    </Panel>
  );
}

function PairTable({ pair, noise }: { pair: Interaction; noise: number | null }) {
  const scale = scoreScale(pair.scores.flat(), noise);
  return (
    <div className={classes.detail}>
      <h3 className={classes.mapTitle}>
        Mean score in Mbps by {pair.knob_one} (down) and {pair.knob_two} (across)
      </h3>
      <ScrollTable label={`Mean score by ${pairName(pair)}`}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{pair.knob_one}</Table.Th>
            {pair.values_two.map((value) => (
              <Table.Th key={value} ta="right">
                {valueText(value)}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {pair.values_one.map((value, row) => (
            <Table.Tr key={value}>
              <Table.Th scope="row">{valueText(value)}</Table.Th>
              {pair.values_two.map((other, column) => {
                const score = pair.scores[row]?.[column] ?? Number.NaN;
                const colour = sequentialColour(scale ? scorePosition(score, scale) : 1);
                return (
                  <Table.Td
                    key={other}
                    ta="right"
                    style={{ background: cssColour(colour), color: textColourOn(colour) }}
                  >
                    {formatNumber(score)}
                  </Table.Td>
                );
              })}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ScrollTable>
    </div>
  );
}
