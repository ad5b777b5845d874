// Sets up a run: what is tuned, under what, how; and says before starting how long it will take.

import { useState } from 'react';
import type { Preset, Space } from '../../api/generated';
import { Loadable } from '../../components/Loadable';
import { Page } from '../../components/Page';
import { type Catalogue, useCatalogue } from '../../hooks/useCatalogue';
import { useSpace } from '../../hooks/useSpace';
import { TuneEditor } from './TuneEditor';
import { AS_THE_WORKLOAD, type Chosen, presetForm, type TuneForm } from './tuneForm';

export function TunePage() {
  const catalogue = useCatalogue();
  return (
    <Page
      title="Tune"
      description="Choose how long to look, and which knobs to leave to the search. A preset fills in everything."
    >
      <Loadable query={catalogue} what="What can be chosen" height={420}>
        {(data) => <Prepared catalogue={data} />}
      </Loadable>
    </Page>
  );
}

/** What is chosen when the page opens. */
const opening = (catalogue: Catalogue): Chosen => ({
  target: catalogue.targets[0]?.name ?? '',
  base: '',
  workload: catalogue.workloads[0]?.name ?? '',
  objective: { name: catalogue.objectives[0]?.name ?? '', limit: '' },
  second: { name: '', limit: '' },
  conditions: AS_THE_WORKLOAD,
  constraints: [],
  ladder: '',
});

function Prepared({ catalogue }: { catalogue: Catalogue }) {
  const [chosen, setChosen] = useState<Chosen & { preset?: string }>(() => opening(catalogue));
  const space = useSpace(chosen.target);
  return (
    <Loadable query={space} what="The knobs of the target" height={420}>
      {(data) => (
        <WithSpace
          key={chosen.target}
          catalogue={catalogue}
          space={data}
          chosen={chosen}
          onTarget={(target, form) => setChosen({ ...form, target, base: '' })}
        />
      )}
    </Loadable>
  );
}

interface WithSpaceProps {
  catalogue: Catalogue;
  space: Space;
  chosen: Chosen & { preset?: string };
  /** Another target: its knobs are others, the rest of the form stays. */
  onTarget: (target: string, form: TuneForm) => void;
}

function WithSpace({ catalogue, space, chosen, onTarget }: WithSpaceProps) {
  const presetOf = (name: string | undefined) =>
    (catalogue.presets.find((one) => one.name === name) ?? catalogue.presets[0]) as Preset;
  const [form, setForm] = useState<TuneForm>(() => presetForm(presetOf(chosen.preset), space, chosen));
  return (
    <TuneEditor
      catalogue={catalogue}
      space={space}
      preset={presetOf(form.preset)}
      form={form}
      onPreset={(preset) => setForm(presetForm(preset, space, form))}
      onTarget={(target) => onTarget(target, form)}
      onChange={(change) => setForm((known) => ({ ...known, ...change }))}
    />
  );
}
