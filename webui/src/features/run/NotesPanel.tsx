// What its user has written about a run: its name, a text, and words to find it again. Where somebody else has written meanwhile,
// nothing is overwritten before its user has seen that.

import { Button, TagsInput, Textarea, TextInput } from '@mantine/core';
import { useBlocker } from '@tanstack/react-router';
import { useState } from 'react';
import type { RunDetail } from '../../api/generated';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { formatCount } from '../../maths/format';
import classes from './Run.module.css';
import { sameWords, useNotes, type Written } from './useNotes';

// What the daemon takes at most, in characters.
const MOST_IN_NAME = 80;
const MOST_IN_NOTES = 10_000;
const MOST_IN_TAG = 40;
const MOST_TAGS = 20;

/** What is wrong with a text that is too long. It is left as it was written: its user shortens it. */
function tooLong(what: string, text: string, most: number): string | undefined {
  const length = [...text].length;
  return length > most
    ? `${what} has at most ${formatCount(most)} characters; this one has ${formatCount(length)}.`
    : undefined;
}

function tagTrouble(tags: readonly string[]): string | undefined {
  if (tags.length > MOST_TAGS) return `A run has at most ${MOST_TAGS} tags; these are ${tags.length}.`;
  return tags.map((tag) => tooLong(`The tag “${tag}”`, tag, MOST_IN_TAG)).find(Boolean);
}

export function NotesPanel({ run: { id, name, notes, tags, notes_version } }: { run: RunDetail }) {
  const stored: Written = { name, notes, tags };
  /** What the form began with, and its version. */
  const [known, setKnown] = useState({ ...stored, version: notes_version });
  const [form, setForm] = useState(stored);
  const save = useNotes(id);
  const changed = !sameWords(form, known);
  const submit = () =>
    save.mutate(
      { ...form, version: known.version },
      {
        onSuccess: ({ name, notes, tags, notes_version }) => {
          const kept = { name, notes, tags };
          setKnown({ ...kept, version: notes_version });
          // The daemon leaves out spaces round a name; what has been written meanwhile stays.
          setForm((written) => (sameWords(written, form) ? kept : written));
        },
      },
    );
  const take = (form: Written) => {
    setKnown({ ...stored, version: notes_version });
    setForm(form);
    save.reset();
  };
  const refused =
    [...form.name].length > MOST_IN_NAME ||
    [...form.notes].length > MOST_IN_NOTES ||
    tagTrouble(form.tags) !== undefined;
  useBlocker({
    shouldBlockFn: () =>
      !window.confirm('Leave this page? What you have written about the run is not saved.'),
    enableBeforeUnload: true,
    disabled: !changed,
  });
  // What comes back of what is being saved is nobody else's.
  const behind = !save.isPending && !sameWords(stored, known);
  if (behind && (!changed || sameWords(form, stored))) {
    setKnown({ ...stored, version: notes_version });
    setForm(stored);
  }
  return (
    <Panel title="Name and notes">
      <form
        className={classes.notes}
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <TextInput
          label="Name"
          error={tooLong('A name', form.name, MOST_IN_NAME)}
          value={form.name}
          onChange={(event) => setForm({ ...form, name: event.currentTarget.value })}
        />
        <TagsInput
          label="Tags"
          placeholder={form.tags.length === 0 ? 'Write a word and press Enter' : ''}
          value={form.tags}
          onChange={(tags) => setForm({ ...form, tags })}
          error={tagTrouble(form.tags)}
        />
        <Textarea
          label="Notes"
          rows={2}
          classNames={{ input: classes.growing }}
          error={tooLong('A note', form.notes, MOST_IN_NOTES)}
          value={form.notes}
          onChange={(event) => setForm({ ...form, notes: event.currentTarget.value })}
        />
        {behind && <Newer stored={stored} onTheirs={() => take(stored)} onMine={() => take(form)} />}
        <div className={classes.notesActions}>
          <Button
            type="submit"
            size="xs"
            variant="default"
            disabled={!changed || behind || refused}
            loading={save.isPending}
          >
            Save
          </Button>
          {save.isSuccess && !changed && (
            <span role="status" className={classes.dimmed}>
              Saved.
            </span>
          )}
          {save.error && !behind && (
            <span role="alert" className={classes.failed}>
              {save.error.message}
            </span>
          )}
        </div>
      </form>
    </Panel>
  );
}

function Newer(props: { stored: Written; onTheirs: () => void; onMine: () => void }) {
  const { name, notes, tags } = props.stored;
  return (
    <Message
      tone="bad"
      title="These notes have been changed meanwhile, in another tab or by somebody else."
      action={
        <Button.Group>
          <Button size="xs" variant="default" onClick={props.onTheirs}>
            Take the newer ones
          </Button>
          <Button size="xs" variant="default" onClick={props.onMine}>
            Keep mine
          </Button>
        </Button.Group>
      }
    >
      {[name, tags.join(', '), notes].filter(Boolean).join(': ') || 'They are empty now.'}
    </Message>
  );
}
