// What becomes of a server with the recommended configuration: each main figure before and after, with the intervals
// of both as small bars on one scale.

import { IconArrowUpRight } from '@tabler/icons-react';
import { Fragment } from 'react';
import type { Figure as Interval, Performance } from '../../api/generated';
import { GainText } from '../../components/GainText';
import { IntervalBar } from '../../components/IntervalBar';
import { WithTerms } from '../../components/Term';
import { formatGain } from '../../maths/format';
import { intervalText, leastText, overlap } from '../../maths/intervals';
import classes from './Changes.module.css';
import { MAIN, mostOf, type Told, toldAt } from './finalists';
import { gainOver } from './keyTrials';

interface ChangesProps {
  own: Performance;
  standard: Performance;
}

export function Changes({ own, standard }: ChangesProps) {
  return (
    <dl className={classes.list}>
      {MAIN.map((told) => (
        <Change key={told.name} told={told} own={own} standard={standard} />
      ))}
    </dl>
  );
}

const NONE = 'none of the rates driven';

/** With fewer blocks there is no interval. */
const FEWEST_BLOCKS = 2;

function Change({ told, own, standard }: ChangesProps & { told: Told }) {
  const [before, after] = [told.figure(standard), told.figure(own)];
  if (!before && !after && !told.bounded) return null;
  const max = mostOf(told, [own, standard]);
  const text = (figure: Interval | null | undefined, of: Performance) =>
    figure ? (told.bounded ? leastText(of.at_least) : '') + told.format(figure.mean) : NONE;
  const rows = [
    { name: 'before', figure: before, isOwn: false },
    { name: 'after', figure: after, isOwn: true },
  ];
  return (
    <div className={classes.change}>
      <dt className={classes.label}>
        <WithTerms text={toldAt(told, own.load_rps)} />
      </dt>
      <dd className={classes.value}>
        <span className={classes.values}>
          <span className={classes.before}>
            <span className="visually-hidden">before </span>
            {text(before, standard)}
          </span>
          <span aria-hidden>→</span>
          <span>
            <span className="visually-hidden">after </span>
            {text(after, own)}
          </span>
        </span>
        <span className={classes.difference}>
          {told.bounded && own.capacity_gain ? (
            <GainText gain={own.capacity_gain} atLeast={own.at_least ?? false} />
          ) : (
            before &&
            after && (
              <Difference
                before={before}
                after={after}
                told={told}
                blocks={Math.min(own.blocks ?? 0, standard.blocks ?? 0)}
              />
            )
          )}
        </span>
        <span className={classes.bars}>
          {rows.map(
            ({ name, figure, isOwn }) =>
              figure && (
                <Fragment key={name}>
                  <span>{name}</span>
                  <IntervalBar figure={figure} max={max} own={isOwn} />
                  <span data-interval>{intervalText(figure, told.format)}</span>
                </Fragment>
              ),
          )}
        </span>
      </dd>
    </div>
  );
}

interface DifferenceProps {
  before: Interval;
  after: Interval;
  told: Told;
  /** How many repeats the means are of; the fewer of both. */
  blocks: number;
}

/** Whether both ends of its interval are known. */
const isBounded = ({ low, high }: Interval): boolean => low != null && high != null;

/** How much of two means, whether it may be chance as far as their intervals tell, and if not, whether it is a cost. */
function Difference({ before, after, told: { grown, format }, blocks }: DifferenceProps) {
  if (format(before.mean) === format(after.mean)) return <strong>no change</strong>;
  const chance = overlap(before, after);
  return (
    <>
      <strong>{formatGain(gainOver(after.mean, before.mean))}</strong>
      {chance && <span className={classes.note}>{whyChance([before, after], blocks)}</span>}
      {!chance && grown && after.mean > before.mean && (
        <span className={classes.grown}>
          <IconArrowUpRight size={14} aria-hidden />
          {grown}
        </span>
      )}
    </>
  );
}

/** Why the difference of two means is not told from chance. */
function whyChance(figures: readonly Interval[], blocks: number): string {
  if (figures.every(isBounded)) return 'the intervals overlap: could be chance';
  if (blocks < FEWEST_BLOCKS) return 'too few repeats to tell it from chance';
  return figures.some(({ low, high }) => low == null && high == null)
    ? 'the repeats differ too much to tell it from chance'
    : 'one is only known to be at least so much: could be chance';
}
