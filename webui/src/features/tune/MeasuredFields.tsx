// What is measured: the server, what clients ask of it and under which conditions, and what makes it good.

import { Select, TagsInput, TextInput } from '@mantine/core';
import type { Condition, Named } from '../../api/generated';
import { Panel } from '../../components/Panel';
import { bothNames, plainName } from '../../maths/plainNames';
import { OwnFile } from './OwnFile';
import classes from './Tune.module.css';
import {
  type ConditionName,
  type Conditions,
  type ObjectiveForm,
  type OwnValues,
  type TuneForm,
  WRAPPER_ORDER,
} from './tuneForm';
import { type Catalogue, workloadsFor } from './useCatalogue';

interface MeasuredFieldsProps {
  catalogue: Catalogue;
  form: TuneForm;
  /** What is wrong with a field of the request's body. */
  errorOf: (field: string) => string | undefined;
  onTarget: (target: string) => void;
  onOwn: (own: OwnValues) => void;
  onChange: (change: Partial<TuneForm>) => void;
}

const CONDITION_LABELS: Record<ConditionName, string> = { memory: 'Memory', start: 'Start', link: 'Link' };
const AS_DEFINED = { name: '', help: 'As the definition of the workload says.', refusal: null };
const NO_SECOND = {
  name: '',
  help: 'One objective gives one best configuration, two a choice between them.',
};
const LIMIT_EXAMPLES = ['p99 <= 5ms', 'p999 <= 20ms', 'rss <= 500MB'];

export function MeasuredFields(props: MeasuredFieldsProps) {
  const { catalogue, form, errorOf, onTarget, onOwn, onChange } = props;
  return (
    <>
      <Panel
        title="What is measured"
        description="A target under a workload: the server, and what its clients ask for."
      >
        <div className={classes.fields}>
          <NamedSelect
            label="Target"
            options={catalogue.targets}
            value={form.target}
            error={errorOf('target')}
            onChange={onTarget}
          />
          <NamedSelect
            label="Workload"
            options={workloadsFor(catalogue, form.target)}
            value={form.workload}
            error={errorOf('workload')}
            onChange={(workload) => onChange({ workload })}
          />
          {(Object.keys(CONDITION_LABELS) as ConditionName[]).map((name) => (
            <ConditionSelect
              key={name}
              label={CONDITION_LABELS[name]}
              options={catalogue.conditions[name]}
              value={form.conditions[name]}
              error={errorOf(name)}
              onChange={(value) =>
                onChange({ conditions: { ...form.conditions, [name]: value } as Conditions })
              }
            />
          ))}
        </div>
        <OwnFile
          target={catalogue.targets.find(({ name }) => name === form.target)}
          own={form.own}
          base={form.base}
          error={errorOf('defaults') ?? errorOf('base')}
          onOwn={onOwn}
          onBase={(base) => onChange({ base })}
        />
      </Panel>
      <Panel
        title="What is best"
        description="An objective makes one score of a trial; constraints must hold besides."
      >
        <div className={classes.fields}>
          <ObjectiveFields
            label="Objective"
            options={catalogue.objectives}
            value={form.objective}
            error={errorOf('objective')}
            onChange={(objective) => onChange({ objective })}
          />
          <ObjectiveFields
            label="Second objective"
            options={[NO_SECOND, ...catalogue.secondObjectives]}
            value={form.second}
            error={errorOf('second_objective')}
            onChange={(second) => onChange({ second })}
          />
          <TagsInput
            label="Constraints"
            inputWrapperOrder={WRAPPER_ORDER}
            description="Limits that must hold at every rate: mean, p50, p90, p99, p999, or rss, the server’s memory (PSS) at its peak. Press Enter after each."
            placeholder={form.constraints.length === 0 ? 'p999 <= 20ms' : ''}
            data={LIMIT_EXAMPLES}
            value={form.constraints}
            error={errorOf('settings.constraints')}
            onChange={(constraints) => onChange({ constraints })}
          />
        </div>
      </Panel>
    </>
  );
}

interface ObjectiveFieldsProps {
  label: string;
  options: readonly Named[];
  value: ObjectiveForm;
  error: string | undefined;
  onChange: (objective: ObjectiveForm) => void;
}

/** An objective, and its latency limit where it has one. */
function ObjectiveFields({ label, options, value, error, onChange }: ObjectiveFieldsProps) {
  const limited = value.name === 'mat';
  return (
    <>
      <NamedSelect
        label={label}
        options={options}
        value={value.name}
        error={limited ? undefined : error}
        onChange={(name) => onChange({ ...value, name })}
      />
      {limited && (
        <TextInput
          label={`Latency limit of the ${label.toLowerCase()}`}
          inputWrapperOrder={WRAPPER_ORDER}
          description="Empty: 4.5 times the mean at low load, found in the calibration."
          placeholder="p999 <= 4ms"
          value={value.limit}
          error={error}
          onChange={(event) => onChange({ ...value, limit: event.currentTarget.value })}
        />
      )}
    </>
  );
}

interface NamedSelectProps {
  label: string;
  options: readonly Named[];
  value: string;
  error: string | undefined;
  onChange: (name: string) => void;
}

export function NamedSelect({ label, options, value, error, onChange }: NamedSelectProps) {
  return (
    <Select
      label={label}
      inputWrapperOrder={WRAPPER_ORDER}
      description={options.find(({ name }) => name === value)?.help}
      // The field has no room for both names.
      data={options.map(({ name }) => ({ value: name, label: name === '' ? 'none' : plainName(name) }))}
      renderOption={({ option }) => (option.value === '' ? option.label : bothNames(option.value))}
      value={value}
      error={error}
      allowDeselect={false}
      onChange={(name) => name !== null && onChange(name)}
    />
  );
}

/** A condition of the workload; one that this machine cannot make says why. */
function ConditionSelect({
  options,
  ...props
}: Omit<NamedSelectProps, 'options'> & { options: readonly Condition[] }) {
  const { label, value, error, onChange } = props;
  const all = [AS_DEFINED, ...options];
  const chosen = all.find(({ name }) => name === value);
  return (
    <Select
      label={label}
      inputWrapperOrder={WRAPPER_ORDER}
      description={chosen?.help}
      data={all.map(({ name, refusal }) => ({
        value: name,
        label: name === '' ? 'as the workload says' : refusal === null ? name : `${name} (not on this host)`,
      }))}
      value={value}
      error={error ?? chosen?.refusal}
      allowDeselect={false}
      onChange={(name) => name !== null && onChange(name)}
    />
  );
}
