// What stands behind an outcome: why the best is so fast and no faster, and how sure that is.

import type { UseQueryResult } from '@tanstack/react-query';
import type { Analysis, RunDetail } from '../../api/generated';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { DiagnosisPanel } from './DiagnosisPanel';
import { RanksPanel } from './RanksPanel';
import { StabilityPanel } from './StabilityPanel';

export function Why({ run, analysis }: { run: RunDetail; analysis: UseQueryResult<Analysis> }) {
  return (
    <Loadable query={analysis} what="The analysis" height={160}>
      {({ findings, notes }) => (
        <>
          <DiagnosisPanel run={run} findings={findings} />
          {notes.map((note) => (
            <Message key={note} title={note} />
          ))}
        </>
      )}
    </Loadable>
  );
}

export function HowSure({ run, analysis }: { run: RunDetail; analysis: Analysis | undefined }) {
  const { outcome } = run;
  const repeated = outcome?.ranking.some(({ scores_mbps }) => scores_mbps.length > 0);
  const stability = analysis?.stability;
  return (
    <>
      {outcome && repeated && <RanksPanel run={run} outcome={outcome} />}
      {stability && <StabilityPanel stability={stability} run={run} best={analysis.best} />}
    </>
  );
}
