// One knob of the space: left to the search within bounds, or fixed.

import { Checkbox, SegmentedControl, Select, Slider } from '@mantine/core';
import type { Knob } from '../../api/generated';
import { formatCount } from '../../maths/format';
import type { KnobValue } from '../../maths/knobDiff';
import { NumberEntry } from './NumberEntry';
import { SLIDER_STEPS, sliderScale } from './sliderScale';
import classes from './Tune.module.css';
import type { KnobForm } from './tuneForm';

interface KnobRowProps {
  knob: Knob;
  form: KnobForm;
  error: string | undefined;
  onChange: (change: Partial<KnobForm>) => void;
}

const SCOPES = {
  worker: 'for each worker',
  total: 'over all workers',
  server: '',
  namespace: 'kernel, for the network namespace',
  host: 'kernel, for the whole machine',
} as const;

export function KnobRow({ knob, form, error, onChange }: KnobRowProps) {
  const about = [
    knob.unit,
    SCOPES[knob.scope ?? 'server'],
    knob.kind === 'integer' ? `${formatCount(knob.low)} to ${formatCount(knob.high)}` : '',
    `default ${typeof knob.default === 'number' ? formatCount(knob.default) : knob.default}`,
  ].filter(Boolean);
  return (
    <fieldset className={classes.knob}>
      <legend className={classes.knobName}>
        <code>{knob.name}</code>
        <span className={classes.about}>{about.join(' · ')}</span>
      </legend>
      <p className={classes.help}>{knob.help}</p>
      <div className={classes.knobControls}>
        <SegmentedControl
          size="xs"
          aria-label={`${knob.name}: search or fix`}
          value={form.mode}
          data={[
            { value: 'search', label: 'Search' },
            { value: 'fixed', label: 'Fixed' },
          ]}
          onChange={(mode) => onChange({ mode: mode as KnobForm['mode'] })}
        />
        {form.mode === 'search' ? (
          <SearchControls knob={knob} form={form} onChange={onChange} invalid={error !== undefined} />
        ) : (
          <FixedControl knob={knob} form={form} onChange={onChange} invalid={error !== undefined} />
        )}
      </div>
      {error && (
        <p className={classes.error} role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}

type ControlProps = Pick<KnobRowProps, 'knob' | 'form' | 'onChange'> & { invalid: boolean };

function SearchControls({ knob, form, onChange, invalid }: ControlProps) {
  if (knob.kind === 'integer') {
    return (
      <>
        <div className={classes.boundField}>
          <NumberEntry
            size="xs"
            aria-label={`${knob.name}: lowest value`}
            leftSection={<span className={classes.bound}>from</span>}
            leftSectionWidth={44}
            allowDecimal={false}
            thousandSeparator=","
            value={form.low}
            error={invalid}
            onChange={(value) => onChange({ low: value })}
          />
          <BoundSlider knob={knob} form={form} onChange={onChange} bound="low" />
        </div>
        <div className={classes.boundField}>
          <NumberEntry
            size="xs"
            aria-label={`${knob.name}: highest value`}
            leftSection={<span className={classes.bound}>to</span>}
            leftSectionWidth={32}
            allowDecimal={false}
            thousandSeparator=","
            value={form.high}
            error={invalid}
            onChange={(value) => onChange({ high: value })}
          />
          <BoundSlider knob={knob} form={form} onChange={onChange} bound="high" />
        </div>
      </>
    );
  }
  const choices = knob.choices ?? [];
  return (
    <div className={classes.choices}>
      {choices.map((choice) => (
        <Checkbox
          key={choice}
          size="xs"
          label={String(choice)}
          checked={form.choices.includes(choice)}
          onChange={(event) =>
            onChange({
              choices: choices.filter((one) =>
                one === choice ? event.currentTarget.checked : form.choices.includes(one),
              ),
            })
          }
        />
      ))}
    </div>
  );
}

/** One bound as a slider, on a logarithmic scale where the knob has one; the field above it takes exact values. */
function BoundSlider({
  knob,
  form,
  onChange,
  bound,
}: Omit<ControlProps, 'invalid'> & { bound: 'low' | 'high' }) {
  const scale = sliderScale(knob);
  if (scale === null) return null;
  const value = form[bound];
  return (
    <Slider
      className={classes.slider}
      size="sm"
      thumbSize={24}
      min={0}
      max={SLIDER_STEPS}
      label={(place) => formatCount(scale.valueAt(place))}
      thumbLabel={`${knob.name}: ${bound === 'low' ? 'lowest' : 'highest'} value on a slider`}
      thumbValueText={(place) => formatCount(scale.valueAt(place))}
      value={scale.placeOf(value === '' ? scale[bound] : value)}
      onChange={(place) => onChange({ [bound]: scale.valueAt(place) })}
    />
  );
}

function FixedControl({ knob, form, onChange, invalid }: ControlProps) {
  if (knob.kind === 'integer') {
    return (
      <NumberEntry
        size="xs"
        aria-label={`${knob.name}: value`}
        allowDecimal={false}
        thousandSeparator=","
        value={typeof form.value === 'number' ? form.value : ''}
        error={invalid}
        onChange={(value) => onChange({ value })}
      />
    );
  }
  const byText = new Map<string, KnobValue>((knob.choices ?? []).map((choice) => [String(choice), choice]));
  return (
    <Select
      size="xs"
      aria-label={`${knob.name}: value`}
      data={[...byText.keys()]}
      value={String(form.value)}
      allowDeselect={false}
      error={invalid}
      onChange={(text) => onChange({ value: byText.get(text ?? '') ?? '' })}
    />
  );
}
