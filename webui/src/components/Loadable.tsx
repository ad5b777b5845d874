// Shows an answer of the API, or that it is on its way, or why it did not come.

import { Button, Skeleton } from '@mantine/core';
import type { ReactNode } from 'react';
import { Message } from './Message';

/** What `useQuery` gives, as far as it is shown. */
interface Answer<T> {
  data: T | undefined;
  error: Error | null;
  refetch: () => unknown;
}

interface LoadableProps<T> {
  query: Answer<T>;
  /** What is being loaded, for the sentence: "The runs could not be loaded." */
  what: string;
  /** Height of the placeholder in pixels. */
  height?: number;
  children: (data: T) => ReactNode;
}

export function Loadable<T>({ query, what, height = 120, children }: LoadableProps<T>) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error !== null) {
    return (
      <Message
        tone="bad"
        title={`${what} could not be loaded.`}
        action={
          <Button size="xs" variant="default" onClick={() => query.refetch()}>
            Try again
          </Button>
        }
      >
        {query.error.message}
      </Message>
    );
  }
  return (
    <div aria-busy="true">
      <span className="visually-hidden">{`${what}: loading`}</span>
      <Skeleton h={height} radius="sm" />
    </div>
  );
}
