// The actions that every page has: the way to each page, the documentation where the daemon
// serves it, the theme, the palette itself.

import { useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { Action } from '../actions/actions';
import { getHealthOptions } from '../api/generated/@tanstack/react-query.gen';
import { useProgress } from '../api/useProgress';

export const PAGES = [
  { to: '/', label: 'Home', keys: 'g h' },
  { to: '/live', label: 'Live', keys: 'g l' },
  { to: '/live-tuning', label: 'Live tuning', keys: 'g v' },
  { to: '/tune', label: 'Tune', keys: 'g t' },
  { to: '/runs', label: 'Runs', keys: 'g r' },
  { to: '/compare', label: 'Compare', keys: 'g c' },
  { to: '/host', label: 'Host', keys: 'g o' },
  { to: '/fleet', label: 'Fleet', keys: 'g f' },
] as const;

export function useFrameActions(openPalette: () => void): Action[] {
  const navigate = useNavigate();
  const progress = useProgress();
  const { data: health } = useQuery({ ...getHealthOptions(), staleTime: Number.POSITIVE_INFINITY });
  const { setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  return [
    ...PAGES.map(({ to, label, keys }) => ({
      title: `Go to ${label}`,
      keys,
      run: () => void navigate({ to }),
    })),
    ...(progress
      ? [
          {
            title: `Watch run ${progress.run_id}`,
            keys: 'g w',
            run: () => void navigate({ to: '/runs/$id', params: { id: progress.run_id } }),
          },
        ]
      : []),
    { title: 'Look a word up in the glossary', run: () => void navigate({ to: '/glossary' }) },
    ...(health?.documentation
      ? [{ title: 'Read the documentation', run: () => window.location.assign('/docs/') }]
      : []),
    { title: 'Theme: light', run: () => setColorScheme('light') },
    { title: 'Theme: dark', run: () => setColorScheme('dark') },
    { title: 'Theme: as the system', run: () => setColorScheme('auto') },
    { title: 'List all actions and their keys', keys: '?', run: openPalette },
  ];
}
