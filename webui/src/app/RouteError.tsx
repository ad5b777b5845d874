// A page that broke while drawing says so instead of leaving a blank screen.

import { Button } from '@mantine/core';
import type { ErrorComponentProps } from '@tanstack/react-router';
import { Message } from '../components/Message';
import { Page } from '../components/Page';

export function RouteError({ error, reset }: ErrorComponentProps) {
  return (
    <Page title="This page could not be shown">
      <Message
        tone="bad"
        title={error instanceof Error ? error.message : String(error)}
        action={
          <Button variant="default" onClick={reset}>
            Try again
          </Button>
        }
      />
    </Page>
  );
}
