// Tells by a notification of the browser that the run which goes on has ended, if its user has asked for that.

import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { RunDetail } from '../api/generated';
import { getRunOptions } from '../api/generated/@tanstack/react-query.gen';
import { useProgress } from '../api/useProgress';
import { askForNotices, noticePermission, showNotice } from '../browser/notices';
import { readStored, writeStored } from '../browser/stored';

const STORED = 'trimtab-notices';
/** A hidden tab lets go of the live stream, so the run is asked for besides; in ms. */
const LOOK_MS = 30_000;

const ENDS: Partial<Record<RunDetail['state'], string>> = {
  finished: 'has finished',
  stopped: 'was stopped',
  failed: 'has failed',
  interrupted: 'was interrupted',
};

export interface EndNotice {
  on: boolean;
  /** Whether the browser has been told never to show notices of this page. */
  refused: boolean;
  turn: () => void;
}

/** Null where the browser has no notifications. */
export function useEndNotice(): EndNotice | null {
  const progress = useProgress();
  const navigate = useNavigate();
  const [on, setOn] = useState(() => readStored(STORED) === 'on' && noticePermission() === 'granted');
  const [refused, setRefused] = useState(() => noticePermission() === 'denied');
  /** The run that went on at a time, in ms since the epoch. */
  const [watched, setWatched] = useState<{ id: number; at: number } | null>(null);
  const { data, dataUpdatedAt } = useQuery({
    ...getRunOptions({ path: { run_id: watched?.id ?? 0 } }),
    enabled: on && watched !== null,
    refetchInterval: LOOK_MS,
    refetchIntervalInBackground: true,
  });
  // A trial that is measured again is one of a run that has ended before.
  const id = progress?.phase === 'done' ? undefined : progress?.run_id;
  useEffect(() => {
    if (id !== undefined) setWatched({ id, at: Date.now() });
  }, [id]);
  useEffect(() => {
    // What was known of it before may be an earlier end.
    if (!on || !data || !watched || data.id !== watched.id || dataUpdatedAt < watched.at) return;
    const end = ENDS[data.state];
    if (end === undefined) return;
    setWatched(null);
    // Whoever looks at the page sees it.
    if (document.hasFocus()) return;
    showNotice({
      title: `Run ${data.id} ${end}`,
      body: data.outcome?.sentence || data.error || `${data.target} under ${data.workload}`,
      tag: `trimtab-run-${data.id}`,
      onClick: () => void navigate({ to: '/runs/$id', params: { id: data.id } }),
    });
  }, [on, data, dataUpdatedAt, watched, navigate]);
  if (noticePermission() === 'missing') return null;
  const turn = async () => {
    const wanted = !on && (await askForNotices());
    setRefused(noticePermission() === 'denied');
    setOn(wanted);
    writeStored(STORED, wanted ? 'on' : null);
  };
  return { on, refused, turn: () => void turn() };
}
