// What its user has written about a run: a text, and words to find it again.

import { Button, TagsInput, Textarea } from '@mantine/core';
import { useState } from 'react';
import type { RunDetail } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { useNoteRun } from '../../hooks/useRunActions';
import classes from './Run.module.css';

export function NotesPanel({ run }: { run: RunDetail }) {
  const [notes, setNotes] = useState(run.notes);
  const [tags, setTags] = useState(run.tags);
  const save = useNoteRun(run.id);
  const changed = notes !== run.notes || tags.join('\n') !== run.tags.join('\n');
  return (
    <Panel title="Notes">
      <form
        className={classes.notes}
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate({ notes, tags });
        }}
      >
        <TagsInput
          label="Tags"
          placeholder={tags.length === 0 ? 'Write a word and press Enter' : ''}
          value={tags}
          onChange={setTags}
          maxTags={20}
          maxLength={40}
        />
        <Textarea
          label="Notes"
          rows={2}
          classNames={{ input: classes.growing }}
          maxLength={10_000}
          value={notes}
          onChange={(event) => setNotes(event.currentTarget.value)}
        />
        <div className={classes.notesActions}>
          <Button type="submit" size="xs" variant="default" disabled={!changed} loading={save.isPending}>
            Save
          </Button>
          {save.isSuccess && !changed && (
            <span role="status" className={classes.dimmed}>
              Saved.
            </span>
          )}
          {save.error && (
            <span role="alert" className={classes.failed}>
              {save.error.message}
            </span>
          )}
        </div>
      </form>
    </Panel>
  );
}
