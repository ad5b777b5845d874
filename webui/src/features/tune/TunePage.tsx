// Sets up a run: what is tuned, under what, how; and says before starting how long it will take.

import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import type { Preset, Space, TargetReply } from '../../api/generated';
import { getRunOptions } from '../../api/generated/@tanstack/react-query.gen';
import { Loadable } from '../../components/Loadable';
import { Page } from '../../components/Page';
import { searches } from '../../maths/presets';
import { isOfKernel } from '../../maths/space';
import { fitted, formOfRun, isChanged, keepForm, keptForm } from './keptForm';
import { TuneEditor } from './TuneEditor';
import {
  AS_THE_WORKLOAD,
  type Chosen,
  NO_OWN_VALUES,
  ofUsualFile,
  presetForm,
  type TuneForm,
  withDefaults,
  withOwnValues,
} from './tuneForm';
import { type Catalogue, useCatalogue, workloadFor } from './useCatalogue';
import { useSpace } from './useSpace';

const route = getRouteApi('/tune');

export function TunePage() {
  const { like, target, base } = route.useSearch();
  const catalogue = useCatalogue();
  return (
    <Page
      title="Tune"
      description="Choose how long to look, and which knobs to leave to the search. A preset fills in everything."
    >
      <Loadable query={catalogue} what="What can be chosen" height={420}>
        {(data) => {
          if (like !== undefined) return <Again catalogue={data} like={like} />;
          const server = data.targets.find(({ name }) => name === target);
          return server ? (
            <Begun catalogue={data} server={server} base={base ?? ''} />
          ) : (
            <Prepared catalogue={data} />
          );
        }}
      </Loadable>
    </Page>
  );
}

/** What is chosen when the page opens. */
const opening = (catalogue: Catalogue): Chosen => ({
  target: catalogue.targets[0]?.name ?? '',
  base: '',
  own: NO_OWN_VALUES,
  kernel: false,
  workload: catalogue.workloads[0]?.name ?? '',
  objective: { name: catalogue.objectives[0]?.name ?? '', limit: '' },
  second: { name: '', limit: '' },
  conditions: AS_THE_WORKLOAD,
  constraints: [],
  ladder: '',
  hosts: [],
  generators: [],
});

function Prepared({ catalogue }: { catalogue: Catalogue }) {
  const [kept, setKept] = useState(keptForm);
  const known = catalogue.targets.some(({ name }) => name === kept?.target);
  const target = known ? String(kept?.target) : opening(catalogue).target;
  const kernel = known && kept?.kernel === true;
  const space = useSpace(target, kernel);
  return (
    <Loadable query={space} what="The knobs of the target" height={420}>
      {(data) => (
        <WithSpace
          key={`${target} ${kernel}`}
          catalogue={catalogue}
          space={data}
          target={target}
          kernel={kernel}
          kept={known ? kept : null}
          onOther={(form) => setKept({ ...form })}
        />
      )}
    </Loadable>
  );
}

interface WithSpaceProps {
  catalogue: Catalogue;
  space: Space;
  target: string;
  /** Whether the knobs of the kernel are among them. */
  kernel: boolean;
  /** What was changed before; null when nothing was. */
  kept: ReturnType<typeof keptForm>;
  /** Another target, or with the kernel or without: other knobs; the rest of the form stays. */
  onOther: (form: TuneForm) => void;
}

function WithSpace({ catalogue, space: bare, target, kernel, kept, onOther }: WithSpaceProps) {
  const presetOf = (name: unknown) =>
    (catalogue.presets.find((one) => one.name === name) ?? catalogue.presets[0]) as Preset;
  const [form, setForm] = useState<TuneForm>(() => {
    const fresh = presetForm(presetOf(kept?.preset), bare, { ...opening(catalogue), target, kernel });
    return kept === null ? fresh : fitted(kept, fresh);
  });
  /** A preset that would discard what has been changed, while its user is asked. */
  const [wanted, setWanted] = useState<Preset | null>(null);
  const preset = presetOf(form.preset);
  const space = useMemo(() => withDefaults(bare, form.own.values), [bare, form.own.values]);
  useEffect(() => keepForm(form), [form]);
  const apply = (next: Preset) => {
    setForm(presetForm(next, space, form));
    setWanted(null);
  };
  return (
    <TuneEditor
      catalogue={catalogue}
      space={space}
      preset={preset}
      form={form}
      wanted={wanted}
      onPreset={(next) => (isChanged(form, preset, space) ? setWanted(next) : apply(next))}
      onOwn={(own) => setForm(withOwnValues(form, own, preset, space, withDefaults(bare, own.values)))}
      onDiscard={(next) => (next === null ? setWanted(null) : apply(next))}
      onTarget={(other) => {
        const workload = workloadFor(catalogue, other, form.workload);
        onOther({ ...form, target: other, workload, base: '', own: NO_OWN_VALUES, knobs: {} });
      }}
      onKernel={(too) => onOther({ ...form, kernel: too })}
      onChange={(change) => setForm((known) => ({ ...known, ...change }))}
    />
  );
}

/**
 * Fills the form for a server that was chosen elsewhere, over what its own file sets, and goes on as if its user had
 * written that. What the form holds for this server already stays, but for a `base` that it shall begin with.
 */
function Begun({ catalogue, server, base }: { catalogue: Catalogue; server: TargetReply; base: string }) {
  const space = useSpace(server.name, false);
  const navigate = useNavigate();
  useEffect(() => {
    const [preset] = catalogue.presets;
    if (!space.data || preset === undefined) return;
    const kept = keptForm();
    if (kept?.target !== server.name || (base !== '' && kept.base !== base)) {
      const start = { ...opening(catalogue), base };
      const own = server.file && base === '' ? ofUsualFile(server.file) : NO_OWN_VALUES;
      const workload = workloadFor(catalogue, server.name, start.workload);
      const chosen = { ...start, target: server.name, own, workload };
      keepForm(presetForm(preset, withDefaults(space.data, own.values), chosen));
    }
    void navigate({ to: '/tune', search: {}, replace: true });
  }, [space.data, catalogue, server, base, navigate]);
  return (
    <Loadable query={{ ...space, data: undefined }} what="The knobs of the target" height={420}>
      {() => null}
    </Loadable>
  );
}

/** Fills the form with the settings of a run, and goes on as if its user had written them. */
function Again({ catalogue, like }: { catalogue: Catalogue; like: number }) {
  const run = useQuery(getRunOptions({ path: { run_id: like } }));
  const kernel = run.data?.space.knobs.some(isOfKernel) ?? false;
  const space = useSpace(run.data?.target ?? catalogue.targets[0]?.name ?? '', kernel);
  const navigate = useNavigate();
  useEffect(() => {
    if (!run.data || !space.data) return;
    const names = searches(run.data.preset) ? run.data.preset : undefined;
    const preset = catalogue.presets.find(({ name }) => name === names) ?? catalogue.presets[0];
    if (preset === undefined) return;
    keepForm(formOfRun(run.data, preset, space.data));
    void navigate({ to: '/tune', search: {}, replace: true });
  }, [run.data, space.data, catalogue, navigate]);
  return (
    <Loadable query={{ ...run, data: undefined }} what={`Run ${like}`} height={420}>
      {() => null}
    </Loadable>
  );
}
