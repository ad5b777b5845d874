import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { useState } from 'react';
import { expect, it } from 'vitest';
import { renderInApp } from '../../test/render';
import { NumberEntry } from './NumberEntry';
import type { NumberField } from './tuneForm';

function Form() {
  const [value, setValue] = useState<NumberField>(8);
  return (
    <>
      <NumberEntry label="Time" suffix=" s" min={0} value={value} onChange={setValue} />
      <button type="button" onClick={() => setValue(30)}>
        preset
      </button>
      <output>{value}</output>
    </>
  );
}

it.each(['0.4', '1.05', '12', '0.5'])('takes %s as it is typed, one key after the other', async (text) => {
  await renderInApp(<Form />);
  const field = screen.getByRole('textbox', { name: 'Time' });
  await userEvent.clear(field);
  await userEvent.type(field, text);
  expect(screen.getByRole('status')).toHaveTextContent(text);
  expect(field).toHaveValue(`${text} s`);
});

it('shows what something else has set', async () => {
  await renderInApp(<Form />);
  await userEvent.click(screen.getByRole('button', { name: 'preset' }));
  expect(screen.getByRole('textbox', { name: 'Time' })).toHaveValue('30 s');
});
