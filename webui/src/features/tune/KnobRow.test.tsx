import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { expect, it, vi } from 'vitest';
import type { Knob } from '../../api/generated';
import { preset, space } from '../../test/records';
import { renderInApp } from '../../test/render';
import { KnobRow } from './KnobRow';
import { knobForm } from './tuneForm';

const [sendfile, workers] = space.knobs as [Knob, Knob];

it('gives the range of an integer knob and reports a change of it', async () => {
  const onChange = vi.fn();
  await renderInApp(
    <KnobRow knob={workers} form={knobForm(workers, space, preset)} error={undefined} onChange={onChange} />,
  );
  const high = screen.getByRole('textbox', { name: 'workers: highest value' });
  expect(high).toHaveValue('32');
  await userEvent.clear(high);
  expect(onChange).toHaveBeenLastCalledWith({ high: '' });
  await userEvent.click(screen.getByText('Fixed'));
  expect(onChange).toHaveBeenLastCalledWith({ mode: 'fixed' });
});

it('keeps the order of the choices of a categorical knob', async () => {
  const onChange = vi.fn();
  const form = { ...knobForm(sendfile, space, preset), choices: ['blocking'] };
  await renderInApp(<KnobRow knob={sendfile} form={form} error={undefined} onChange={onChange} />);
  await userEvent.click(screen.getByRole('checkbox', { name: 'nonblocking' }));
  expect(onChange).toHaveBeenCalledWith({ choices: ['nonblocking', 'blocking'] });
});

it('says beside the knob what is wrong with it', async () => {
  await renderInApp(
    <KnobRow
      knob={workers}
      form={knobForm(workers, space, preset)}
      error="workers: low 50 is above high 32"
      onChange={vi.fn()}
    />,
  );
  expect(screen.getByRole('alert')).toHaveTextContent('workers: low 50 is above high 32');
  expect(screen.getByRole('textbox', { name: 'workers: lowest value' })).toBeInvalid();
});
