import type { Configuration } from '../maths/heatMapGrid';
import classes from './KnobChips.module.css';

/** A configuration as one chip for each knob. */
export function KnobChips({ of }: { of: Configuration }) {
  return (
    <span className={classes.knobs}>
      {Object.entries(of).map(([knob, value]) => (
        <span key={knob} className={classes.knob}>
          {knob}={value}
        </span>
      ))}
    </span>
  );
}
