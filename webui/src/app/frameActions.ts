// The actions that every page has: the way to each page, the theme, the palette itself.

import { useMantineColorScheme } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { Action } from '../actions/actions';
import { useProgress } from '../hooks/useProgress';

export const PAGES = [
  { to: '/', label: 'Home', keys: 'g h' },
  { to: '/live', label: 'Live', keys: 'g l' },
  { to: '/tune', label: 'Tune', keys: 'g t' },
  { to: '/runs', label: 'Runs', keys: 'g r' },
  { to: '/compare', label: 'Compare', keys: 'g c' },
  { to: '/host', label: 'Host', keys: 'g o' },
] as const;

export function useFrameActions(openPalette: () => void): Action[] {
  const navigate = useNavigate();
  const progress = useProgress();
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
    { title: 'Theme: light', run: () => setColorScheme('light') },
    { title: 'Theme: dark', run: () => setColorScheme('dark') },
    { title: 'Theme: as the system', run: () => setColorScheme('auto') },
    { title: 'List all actions and their keys', keys: '?', run: openPalette },
  ];
}
