import type { Configuration } from '../maths/heatMapGrid';
import classes from './KnobChips.module.css';

interface KnobChipsProps {
  of: Configuration;
  /** The words by which a file says of some that they are one for each CPU. */
  eachCpu?: Readonly<Record<string, string>>;
}

/** A configuration as one chip for each knob. */
export function KnobChips({ of, eachCpu = {} }: KnobChipsProps) {
  return (
    <span className={classes.knobs}>
      {Object.entries(of).map(([knob, value]) => (
        <span key={knob} className={classes.knob}>
          {eachCpu[knob] === undefined
            ? `${knob}=${value}`
            : `${knob} ${eachCpu[knob]}: ${value} here, one for each CPU of the server`}
        </span>
      ))}
    </span>
  );
}
