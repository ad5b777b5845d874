import { Accordion, Switch } from '@mantine/core';
import type { Preset } from '../../api/generated';
import { NumberEntry } from './NumberEntry';
import { NUMBER_SETTINGS, SWITCH_SETTINGS, THRESHOLDS } from './settingFields';
import classes from './Tune.module.css';
import { percentOf, type TuneForm, WRAPPER_ORDER } from './tuneForm';

interface AdvancedSettingsProps {
  preset: Preset;
  form: Pick<TuneForm, 'settings' | 'switches' | 'thresholds'>;
  /** What is wrong with a setting, by its name in the body of the request. */
  errorOf: (name: string) => string | undefined;
  onChange: (change: Partial<TuneForm>) => void;
}

/** Everything else a preset decides; what is left alone follows the preset. */
export function AdvancedSettings({ preset: { settings }, form, errorOf, onChange }: AdvancedSettingsProps) {
  return (
    <>
      <div className={classes.switches}>
        {SWITCH_SETTINGS.map(({ name, label, help }) => (
          <Switch
            key={name}
            label={label}
            description={help}
            checked={form.switches[name] ?? settings[name] ?? false}
            error={errorOf(name)}
            onChange={(event) =>
              onChange({ switches: { ...form.switches, [name]: event.currentTarget.checked } })
            }
          />
        ))}
      </div>
      <Accordion variant="contained" mt="md">
        <Accordion.Item value="advanced">
          <Accordion.Control>Advanced settings</Accordion.Control>
          <Accordion.Panel>
            <div className={classes.fields}>
              {NUMBER_SETTINGS.map(({ name, label, unit, help }) => (
                <NumberEntry
                  key={name}
                  label={label}
                  inputWrapperOrder={WRAPPER_ORDER}
                  description={help}
                  suffix={unit && ` ${unit}`}
                  min={0}
                  value={form.settings[name] ?? settings[name] ?? ''}
                  error={errorOf(name)}
                  onChange={(value) => onChange({ settings: { ...form.settings, [name]: value } })}
                />
              ))}
            </div>
          </Accordion.Panel>
        </Accordion.Item>
        <Accordion.Item value="verification">
          <Accordion.Control>What a trial must keep to count</Accordion.Control>
          <Accordion.Panel>
            <div className={classes.fields}>
              {THRESHOLDS.map(({ name, label, help }) => (
                <NumberEntry
                  key={name}
                  label={label}
                  inputWrapperOrder={WRAPPER_ORDER}
                  description={help}
                  suffix=" %"
                  min={0}
                  max={100}
                  value={form.thresholds[name] ?? percentOf(settings.thresholds?.[name])}
                  error={errorOf(`thresholds.${name}`)}
                  onChange={(value) => onChange({ thresholds: { ...form.thresholds, [name]: value } })}
                />
              ))}
            </div>
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
    </>
  );
}
