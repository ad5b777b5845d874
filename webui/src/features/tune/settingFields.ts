// The settings of a preset that the form lets one change, with what they mean.

import type { RunSettings, Thresholds } from '../../api/generated';

/** Numbers. */
export const NUMBER_SETTINGS = [
  {
    name: 'rate_duration_s',
    label: 'Time per rate',
    unit: 's',
    help: 'How long a trial measures at each rate.',
  },
  {
    name: 'warmup_s',
    label: 'Warm-up per rate',
    unit: 's',
    help: 'The first part of each rate, which does not count.',
  },
  { name: 'timeout_s', label: 'Client timeout', unit: 's', help: 'A session that takes longer gives up.' },
  { name: 'gap_s', label: 'Pause between rates', unit: 's', help: 'Lets closed connections drain.' },
  {
    name: 'ladder_points',
    label: 'Rates in the ladder',
    unit: '',
    help: 'How many rates the ladder has at first.',
  },
  {
    name: 'elimination_trials',
    label: 'Trials of the elimination',
    unit: '',
    help: 'At most so many show which settings of the best are worth something; 0 keeps them all.',
  },
  {
    name: 'confirmation_repeats',
    label: 'Confirmation repeats',
    unit: '',
    help: 'How often winner and default are measured again; narrows the interval.',
  },
  { name: 'runners_up', label: 'Runners-up', unit: '', help: 'Finalists besides the best and the default.' },
  { name: 'levels', label: 'Search levels', unit: '', help: 'How many finer grids follow the coarse one.' },
  { name: 'directories', label: 'File set', unit: 'directories', help: 'About 5 MB of files each.' },
  {
    name: 'time_scale',
    label: 'Think time scale',
    unit: '×',
    help: 'Multiplies the pauses between requests.',
  },
  {
    name: 'tie_tolerance',
    label: 'Tie tolerance',
    unit: '',
    help: 'Scores this close, as a share of 1, count as equal: the one that takes less wins.',
  },
  {
    name: 'calibration_start_rps',
    label: 'Calibration start',
    unit: 'requests/s',
    help: 'The first rate of the calibration; it grows until the default saturates.',
  },
  {
    name: 'calibration_step_s',
    label: 'Calibration step',
    unit: 's',
    help: 'Time per rate while calibrating.',
  },
] as const satisfies readonly { name: keyof RunSettings; label: string; unit: string; help: string }[];

export type SettingName = (typeof NUMBER_SETTINGS)[number]['name'];

/** Yes or no. */
export const SWITCH_SETTINGS = [
  {
    name: 'learn',
    label: 'Learn from earlier runs',
    help: 'The search begins with what earlier runs of this target have shown.',
  },
  {
    name: 'expert_baseline',
    label: 'Compare with documented advice',
    help: 'The settings that the target’s own documentation recommends are among the finalists.',
  },
  {
    name: 'profile',
    label: 'Profile the server',
    help: 'Samples it with perf, to tell where its CPU time goes; costs a little speed.',
  },
  {
    name: 'restart_between_rates',
    label: 'Restart between rates',
    help: 'Every rate meets a fresh server, as in the thesis; takes longer.',
  },
] as const satisfies readonly { name: keyof RunSettings; label: string; help: string }[];

export type SwitchName = (typeof SWITCH_SETTINGS)[number]['name'];

/** Limits of the verification, shown in percent. */
export const THRESHOLDS = [
  {
    name: 'all_files_limit',
    label: 'Timeouts, all files',
    help: 'A trial fails if at any rate more of its requests time out.',
  },
  { name: 'size_limit', label: 'Timeouts, each size', help: 'The same for the files of each size.' },
  {
    name: 'size_over_mean_limit',
    label: 'Each size over the mean',
    help: 'How far one size may exceed all files, so that large files do not starve.',
  },
  {
    name: 'failures_limit',
    label: 'Failed requests',
    help: 'Resets, wrong lengths and error statuses.',
  },
] as const satisfies readonly { name: keyof Thresholds; label: string; help: string }[];

export type ThresholdName = (typeof THRESHOLDS)[number]['name'];
