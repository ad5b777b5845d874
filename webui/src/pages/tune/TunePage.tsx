// Sets up a run: what is tuned, under what, how; and says before starting how long it will take.

import { useState } from 'react';
import type { Preset, Space } from '../../api/generated';
import { Loadable } from '../../components/Loadable';
import { Page } from '../../components/Page';
import { type Catalogue, useCatalogue } from '../../hooks/useCatalogue';
import { useSpace } from '../../hooks/useSpace';
import { TuneEditor } from './TuneEditor';
import { AS_THE_WORKLOAD, presetForm, type TuneForm } from './tuneForm';

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

function Prepared({ catalogue }: { catalogue: Catalogue }) {
  const [target, setTarget] = useState(catalogue.targets[0]?.name ?? '');
  const space = useSpace(target);
  return (
    <Loadable query={space} what="The knobs of the target" height={420}>
      {(data) => (
        <WithSpace key={target} catalogue={catalogue} space={data} target={target} onTarget={setTarget} />
      )}
    </Loadable>
  );
}

interface WithSpaceProps {
  catalogue: Catalogue;
  space: Space;
  target: string;
  onTarget: (target: string) => void;
}

function WithSpace({ catalogue, space, target, onTarget }: WithSpaceProps) {
  const [form, setForm] = useState<TuneForm>(() =>
    presetForm(catalogue.presets[0] as Preset, space, {
      target,
      workload: catalogue.workloads[0]?.name ?? '',
      objective: catalogue.objectives[0]?.name ?? '',
      conditions: AS_THE_WORKLOAD,
    }),
  );
  const preset = catalogue.presets.find(({ name }) => name === form.preset) as Preset;
  return (
    <TuneEditor
      catalogue={catalogue}
      space={space}
      preset={preset}
      form={form}
      onPreset={(chosen) => setForm(presetForm(chosen, space, form))}
      onTarget={onTarget}
      onChange={(change) => setForm((known) => ({ ...known, ...change }))}
    />
  );
}
