// Which hosts of the fleet a run uses; shown where there is a fleet.

import { MultiSelect } from '@mantine/core';
import { useFleet } from '../../api/useFleet';
import { Panel } from '../../components/Panel';
import classes from './Tune.module.css';
import { type TuneForm, WRAPPER_ORDER } from './tuneForm';

interface FleetFieldsProps {
  form: TuneForm;
  errorOf: (field: string) => string | undefined;
  onChange: (change: Partial<TuneForm>) => void;
}

export function FleetFields({ form, errorOf, onChange }: FleetFieldsProps) {
  const stations = useFleet().data?.stations ?? [];
  const named = (role: string, chosen: readonly string[]) => [
    ...new Set([
      ...stations.filter((one) => one.role === role && one.state === 'ready').map(({ name }) => name),
      ...chosen,
    ]),
  ];
  const hosts = named('server', form.hosts);
  const generators = named('generator', form.generators);
  if (hosts.length + generators.length === 0) return null;
  return (
    <Panel title="Where">
      <div className={classes.fields}>
        <MultiSelect
          label="Hosts"
          inputWrapperOrder={WRAPPER_ORDER}
          description="That carry the trials out. None: this machine."
          data={hosts}
          value={form.hosts}
          error={errorOf('hosts')}
          clearable
          onChange={(value) => onChange({ hosts: value })}
        />
        <MultiSelect
          label="Generators"
          inputWrapperOrder={WRAPPER_ORDER}
          description="That load the servers. None: each host loads its own."
          data={generators}
          value={form.generators}
          error={errorOf('generators')}
          clearable
          onChange={(value) => onChange({ generators: value })}
        />
      </div>
    </Panel>
  );
}
