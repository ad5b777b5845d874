import { useQuery } from '@tanstack/react-query';
import { listEventsOptions } from '../../api/generated/@tanstack/react-query.gen';
import { Loadable } from '../../components/Loadable';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { formatTime } from '../../maths/format';
import classes from './Run.module.css';

/** What happened in the run, the newest first. */
export function EventsPanel({ runId }: { runId: number }) {
  const events = useQuery(listEventsOptions({ path: { run_id: runId } }));
  return (
    <Panel title="Log">
      <Loadable query={events} what="The log" height={80}>
        {(rows) =>
          rows.length === 0 ? (
            <Message title="Nothing has been logged." />
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a list that scrolls must be reachable by keyboard
            <ol className={classes.log} tabIndex={0} aria-label="Log, newest first">
              {rows.toReversed().map((event) => (
                <li key={`${event.at} ${event.message}`} data-level={event.level}>
                  <time dateTime={event.at}>{formatTime(event.at)}</time>
                  <span>{event.level}</span>
                  <span>{event.message}</span>
                </li>
              ))}
            </ol>
          )
        }
      </Loadable>
    </Panel>
  );
}
