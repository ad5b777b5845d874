// What one configuration does in people's terms, where there is nothing to compare it with.

import type { Performance } from '../../api/generated';
import { Figure } from '../../components/Figure';
import { intervalText, leastText } from '../../maths/intervals';
import { MAIN, toldAt } from './finalists';

/** The main figures, each with its interval; of the capacity also that there is none. */
export function Headline({ own }: { own: Performance }) {
  return MAIN.map((told) => {
    const figure = told.figure(own);
    if (!figure)
      return told.bounded && <Figure key={told.name} label={told.name} value="none of the rates driven" />;
    return (
      <Figure
        key={told.name}
        label={toldAt(told, own.load_rps)}
        value={(told.bounded ? leastText(own.at_least) : '') + told.format(figure.mean)}
        detail={intervalText(figure, told.format)}
      />
    );
  });
}
