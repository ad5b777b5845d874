import { Select } from '@mantine/core';
import classes from './Run.module.css';

interface LookSelectProps {
  label: string;
  value: string;
  options: readonly (string | { value: string; label: string })[];
  onChange: (value: string) => void;
  /** What a screen reader says; the label when left out. */
  name?: string;
}

/** A choice of how a map is looked at, with its name inside the box. */
export function LookSelect({ label, value, options, onChange, name = label }: LookSelectProps) {
  return (
    <Select
      size="xs"
      w={230}
      aria-label={name}
      leftSection={<span className={classes.dimmed}>{label}</span>}
      leftSectionWidth={56}
      data={[...options]}
      value={value}
      allowDeselect={false}
      onChange={(chosen) => chosen !== null && onChange(chosen)}
    />
  );
}
