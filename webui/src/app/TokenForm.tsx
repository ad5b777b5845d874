// Asked instead of any page while the daemon wants its token.

import { Button, PasswordInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { openSessionMutation } from '../api/generated/@tanstack/react-query.gen';
import classes from './TokenForm.module.css';

export function TokenForm({ onAccepted }: { onAccepted: () => void }) {
  const [token, setToken] = useState('');
  const client = useQueryClient();
  const session = useMutation({
    ...openSessionMutation(),
    // With the session everything can be read again.
    onSuccess: () => client.invalidateQueries(),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    session.mutate({ body: { token } }, { onSuccess: onAccepted });
  };
  return (
    <main className={classes.page}>
      <form className={classes.card} onSubmit={submit}>
        <h1>This daemon asks for its token</h1>
        <p>
          It listens on an address that others can reach. The token is in the settings it was started with.
        </p>
        <PasswordInput
          label="Token"
          autoComplete="current-password"
          value={token}
          error={session.error?.message}
          onChange={(event) => setToken(event.currentTarget.value)}
        />
        <Button type="submit" fullWidth mt="md" loading={session.isPending} disabled={token === ''}>
          Open Trimtab
        </Button>
      </form>
    </main>
  );
}
