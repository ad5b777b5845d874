import { Accordion, NumberInput } from '@mantine/core';
import type { Preset } from '../../api/generated';
import classes from './Tune.module.css';
import { ADVANCED_SETTINGS, numberField, type SettingName, type TuneForm, WRAPPER_ORDER } from './tuneForm';

interface AdvancedSettingsProps {
  preset: Preset;
  values: TuneForm['settings'];
  errorOf: (name: SettingName) => string | undefined;
  onChange: (values: TuneForm['settings']) => void;
}

/** Everything else a preset decides; what is left alone follows the preset. */
export function AdvancedSettings({ preset, values, errorOf, onChange }: AdvancedSettingsProps) {
  return (
    <Accordion variant="contained" mt="md">
      <Accordion.Item value="advanced">
        <Accordion.Control>Advanced settings</Accordion.Control>
        <Accordion.Panel>
          <div className={classes.fields}>
            {ADVANCED_SETTINGS.map(({ name, label, unit, help }) => (
              <NumberInput
                key={name}
                label={label}
                inputWrapperOrder={WRAPPER_ORDER}
                description={help}
                suffix={unit && ` ${unit}`}
                min={0}
                value={values[name] ?? preset.settings[name] ?? ''}
                error={errorOf(name)}
                onChange={(value) => onChange({ ...values, [name]: numberField(value) })}
              />
            ))}
          </div>
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}
