// The form of the Tune page. It shows a TuneForm and reports changes; what they mean is in tuneForm.ts.

import { Accordion, Button, SegmentedControl, Switch, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useMemo } from 'react';
import { ApiError } from '../../api/errors';
import type { Preset, Space } from '../../api/generated';
import { useEstimate } from '../../api/useEstimate';
import { Message } from '../../components/Message';
import { Panel } from '../../components/Panel';
import { searches } from '../../maths/presets';
import { AdvancedSettings } from './AdvancedSettings';
import { commandLine } from './commandLine';
import { EstimatePanel } from './EstimatePanel';
import { FleetFields } from './FleetFields';
import { KnobRow } from './KnobRow';
import { MeasuredFields, NamedSelect } from './MeasuredFields';
import { NumberEntry } from './NumberEntry';
import { OwnFileReport } from './OwnFileReport';
import classes from './Tune.module.css';
import {
  capacitySpec,
  concerns,
  isWithinReach,
  type KnobForm,
  type OwnValues,
  refusedCondition,
  runSpec,
  type TuneForm,
  WRAPPER_ORDER,
} from './tuneForm';
import type { Catalogue } from './useCatalogue';

interface TuneEditorProps {
  catalogue: Catalogue;
  space: Space;
  preset: Preset;
  form: TuneForm;
  /** A preset that would discard what has been changed; null while none is asked for. */
  wanted: Preset | null;
  onPreset: (preset: Preset) => void;
  /** The answer to `wanted`: that preset, or null to keep what there is. */
  onDiscard: (preset: Preset | null) => void;
  onTarget: (target: string) => void;
  onKernel: (kernel: boolean) => void;
  onOwn: (own: OwnValues) => void;
  onChange: (change: Partial<TuneForm>) => void;
}

const TYPING_PAUSE_MS = 300;

export function TuneEditor({
  catalogue,
  space,
  preset,
  form,
  wanted,
  onPreset,
  onDiscard,
  onTarget,
  onKernel,
  onOwn,
  onChange,
}: TuneEditorProps) {
  const target = catalogue.targets.find(({ name }) => name === form.target);
  const inBrowser = target !== undefined && isWithinReach(target, form.base);
  const asked = useMemo(() => {
    const spec = runSpec(form, preset, space, inBrowser);
    return { spec, capacity: capacitySpec(spec, preset) };
  }, [form, preset, space, inBrowser]);
  const { spec, capacity } = asked;
  const [settled] = useDebouncedValue(asked, TYPING_PAUSE_MS);
  const estimate = useEstimate(settled.spec);
  const climb = useEstimate(settled.capacity);
  const refusal = estimate.error instanceof ApiError ? estimate.error : null;
  const errorOf = (control: string) => (concerns(refusal?.field, control) ? refusal?.message : undefined);
  const searched = space.knobs.filter(({ name }) => !(name in (space.fixed ?? {})));
  const others = space.knobs.filter(({ name }) => name in (space.fixed ?? {}));
  const setKnob = (name: string, change: Partial<KnobForm>) =>
    onChange({ knobs: { ...form.knobs, [name]: { ...(form.knobs[name] as KnobForm), ...change } } });
  const knobRow = (knob: Space['knobs'][number]) => (
    <KnobRow
      key={knob.name}
      knob={knob}
      form={form.knobs[knob.name] as KnobForm}
      error={errorOf(`knobs.${knob.name}`)}
      onChange={(change) => setKnob(knob.name, change)}
    />
  );
  return (
    <div className={classes.columns}>
      <div className={classes.main}>
        <Panel title="Preset" description={preset.help}>
          <SegmentedControl
            fullWidth
            aria-label="Preset"
            value={form.preset}
            data={catalogue.presets.map(({ name }) => name).filter(searches)}
            onChange={(name) => onPreset(catalogue.presets.find((one) => one.name === name) as Preset)}
          />
          {wanted && <Discard wanted={wanted.name} onAnswer={(yes) => onDiscard(yes ? wanted : null)} />}
        </Panel>
        <MeasuredFields
          catalogue={catalogue}
          form={form}
          errorOf={errorOf}
          onTarget={onTarget}
          onOwn={onOwn}
          onChange={onChange}
        />
        {inBrowser && settled.spec.base === form.base && (
          <OwnFileReport key={form.base} spec={settled.spec} />
        )}
        <FleetFields form={form} errorOf={errorOf} onChange={onChange} />
        <Panel
          title="Knobs"
          description="Leave a knob to the search, in a range or among choices, or fix it."
          actions={
            <Switch
              size="sm"
              label="Tune the kernel too"
              checked={form.kernel}
              onChange={(event) => onKernel(event.currentTarget.checked)}
            />
          }
        >
          {errorOf('kernel') && (
            <Message tone="warn" title="The kernel cannot be tuned here.">
              {errorOf('kernel')}
            </Message>
          )}
          <div className={classes.knobs}>{searched.map(knobRow)}</div>
          {others.length > 0 && (
            <Accordion variant="contained" mt="md">
              <Accordion.Item value="others">
                <Accordion.Control>{`${others.length} more knobs, fixed unless you free them`}</Accordion.Control>
                <Accordion.Panel>
                  <div className={classes.knobs}>{others.map(knobRow)}</div>
                </Accordion.Panel>
              </Accordion.Item>
            </Accordion>
          )}
        </Panel>
        <Panel
          title="Search"
          description="A strategy chooses what is measured, within the budget. Every trial meets the same ladder."
        >
          <div className={classes.fields}>
            <NamedSelect
              label="Strategy"
              options={catalogue.strategies}
              value={form.strategy}
              error={errorOf('strategy')}
              onChange={(strategy) => onChange({ strategy })}
            />
            <NumberEntry
              label="Budget"
              inputWrapperOrder={WRAPPER_ORDER}
              description="How many configurations the search measures at most."
              suffix=" trials"
              min={1}
              allowDecimal={false}
              value={form.budget}
              error={errorOf('budget_trials') ?? errorOf('settings.budget_trials')}
              onChange={(value) => onChange({ budget: value })}
            />
            <TextInput
              label="Ladder"
              inputWrapperOrder={WRAPPER_ORDER}
              description="Rates in requests per second. Give them if runs of different days should compare. Empty: the run chooses them, and adds higher ones as it finds better configurations."
              placeholder="5000, 10000, 20000"
              value={form.ladder}
              error={errorOf('settings.ladder')}
              onChange={(event) => onChange({ ladder: event.currentTarget.value })}
            />
            <NumberEntry
              label="Seed"
              inputWrapperOrder={WRAPPER_ORDER}
              description="The same seed offers the same sessions and searches in the same order."
              min={0}
              allowDecimal={false}
              value={form.seed}
              error={errorOf('seed')}
              onChange={(value) => onChange({ seed: value })}
            />
          </div>
          <AdvancedSettings
            preset={preset}
            form={form}
            errorOf={(name) => errorOf(`settings.${name}`)}
            onChange={onChange}
          />
        </Panel>
      </div>
      <EstimatePanel
        spec={spec}
        capacity={capacity}
        commands={{
          tune: commandLine('tune', spec, space, baseOf(form)),
          capacity: commandLine('capacity', capacity, space, baseOf(form)),
        }}
        inTerminal={form.base.trim() !== '' && !inBrowser}
        impossible={refusedCondition(catalogue.conditions, form.conditions)}
        estimate={estimate}
        climb={climb}
        settled={settled === asked}
      />
    </div>
  );
}

/** The file that a command begins with: the one that is named, or the one whose values were taken here. */
const baseOf = ({ base, own }: TuneForm): string =>
  base.trim() || Object.keys(own.values).length === 0 ? base : own.file || 'FILE';

function Discard({ wanted, onAnswer }: { wanted: string; onAnswer: (discard: boolean) => void }) {
  return (
    <div className={classes.question} role="alert">
      <Message
        tone="warn"
        title={`The preset ${wanted} discards what you have changed.`}
        action={
          <Button.Group>
            <Button size="xs" variant="default" onClick={() => onAnswer(true)}>
              Discard my changes
            </Button>
            <Button size="xs" variant="default" onClick={() => onAnswer(false)}>
              Keep them
            </Button>
          </Button.Group>
        }
      >
        Knobs, search and settings; what is measured and what is best stay as they are.
      </Message>
    </div>
  );
}
