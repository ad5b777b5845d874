// Live tuning: the servers that run here, a form that attaches to one, and the sessions there are and were.

import { Page } from '../../components/Page';
import { AttachPanel } from './AttachPanel';
import { ServersPanel } from './ServersPanel';
import { SessionsPanel } from './SessionsPanel';

export function LiveTuningPage() {
  return (
    <Page
      title="Live tuning"
      description="Servers that carry real traffic get better on that traffic: a candidate gets a small share of the connections, beside a fresh copy of today's configuration."
    >
      <SessionsPanel />
      <AttachPanel />
      <ServersPanel />
    </Page>
  );
}
