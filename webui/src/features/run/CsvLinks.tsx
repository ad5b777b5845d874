// The trials of a run and their measurements as tables for other programs: all of them, whatever a filter keeps.

import { Anchor } from '@mantine/core';

const TABLES = ['trials', 'measurements'] as const;

export function CsvLinks({ runId }: { runId: number }) {
  return TABLES.map((table) => (
    <Anchor
      key={table}
      size="xs"
      underline="always"
      mr="xs"
      href={`/api/v1/runs/${runId}/${table}.csv`}
      download
    >
      {`${table}.csv`}
    </Anchor>
  ));
}
