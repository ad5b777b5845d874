// What the run's trials say beyond its outcome: which knobs mattered, how stable the best is, and why it is so fast
// and no faster.

import type { RunDetail } from '../../api/generated';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { useAnalysis } from '../../hooks/useAnalysis';
import { DiagnosisPanel } from './DiagnosisPanel';
import { ImportancePanel } from './ImportancePanel';
import classes from './Run.module.css';
import { StabilityPanel } from './StabilityPanel';

export function Understanding({ run, enabled }: { run: RunDetail; enabled: boolean }) {
  const analysis = useAnalysis(run.id, { running: run.state === 'running', enabled });
  return (
    <Loadable query={analysis} what="The analysis" height={160}>
      {(data) => (
        <>
          <DiagnosisPanel run={run} findings={data.findings} />
          {(data.importance || data.stability) && (
            <div className={classes.halves}>
              {data.importance && <ImportancePanel importance={data.importance} />}
              {data.stability && <StabilityPanel stability={data.stability} run={run} best={data.best} />}
            </div>
          )}
          {data.notes.map((note) => (
            <Message key={note} title={note} />
          ))}
        </>
      )}
    </Loadable>
  );
}
