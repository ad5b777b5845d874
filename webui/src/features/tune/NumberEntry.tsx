/**
 * A NumberInput that reports numbers only.
 *
 * On the way to 0.4 the text is "0.", which is no number other than 0; the text is kept here, so that what the
 * form makes of it does not take the point away again.
 */
import { NumberInput, type NumberInputProps } from '@mantine/core';
import { useState } from 'react';
import { type NumberField, numberField } from './tuneForm';

interface Props extends Omit<NumberInputProps, 'value' | 'onChange'> {
  value: NumberField;
  onChange: (value: NumberField) => void;
}

export function NumberEntry({ value, onChange, ...input }: Props) {
  const [typed, setTyped] = useState<string | number>(value);
  const [reported, setReported] = useState(value);
  if (value !== reported) {
    // Something else has changed it: a slider, or another preset.
    setReported(value);
    setTyped(value);
  }
  return (
    <NumberInput
      {...input}
      value={typed}
      onChange={(text) => {
        const number = numberField(text);
        setTyped(text);
        setReported(number);
        onChange(number);
      }}
    />
  );
}
