// Deletes a run for good. It asks first, says what would be lost, and leads to the list of runs when it is done.

import { Button } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { useActions } from '../../actions/ActionsProvider';
import type { RunDetail } from '../../api/generated';
import { deleteRunMutation, listRunsQueryKey } from '../../api/generated/@tanstack/react-query.gen';
import { ofRun } from '../../api/keys';
import { Message } from '../../components/Message';
import classes from './RunActions.module.css';

export function DeleteRun({ run: { id } }: { run: Pick<RunDetail, 'id'> }) {
  const [asking, setAsking] = useState(false);
  const client = useQueryClient();
  const navigate = useNavigate();
  const isGone = useRef(false);
  // With its page: what is still shown of it, as while the other page is being drawn, would ask for the run again.
  useEffect(
    () => () => {
      if (isGone.current) client.removeQueries({ queryKey: ofRun(id) });
    },
    [client, id],
  );
  const remove = useMutation({
    ...deleteRunMutation(),
    onSuccess: async () => {
      isGone.current = true;
      await navigate({ to: '/runs' });
      await client.invalidateQueries({ queryKey: listRunsQueryKey() });
    },
  });
  useActions([{ title: `Delete run ${id}`, run: () => setAsking(true) }]);
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconTrash size={16} aria-hidden />}
        aria-expanded={asking}
        onClick={() => setAsking(!asking)}
      >
        Delete
      </Button>
      {asking && (
        <div className={classes.question} role="alert">
          <Message
            tone="warn"
            title={`Delete run ${id} with its trials, its log and its exported files?`}
            action={
              <Button.Group>
                <Button
                  size="xs"
                  variant="default"
                  loading={remove.isPending}
                  onClick={() => remove.mutate({ path: { run_id: id } })}
                >
                  Delete for good
                </Button>
                <Button size="xs" variant="default" onClick={() => setAsking(false)}>
                  Keep it
                </Button>
              </Button.Group>
            }
          >
            {remove.error?.message ??
              'You cannot undo this. The archive keeps a run out of the list instead.'}
          </Message>
        </div>
      )}
    </>
  );
}
