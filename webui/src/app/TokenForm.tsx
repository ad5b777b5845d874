// Asked instead of any page while the daemon wants its token.

import { Button, PasswordInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { useOpenSession } from '../hooks/useOpenSession';
import classes from './TokenForm.module.css';

export function TokenForm({ onAccepted }: { onAccepted: () => void }) {
  const [token, setToken] = useState('');
  const session = useOpenSession();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    session.mutate(token, { onSuccess: onAccepted });
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
