// The lines of a unified diff, told apart by sign and colour, and in words for those who hear them.

import { VisuallyHidden } from '@mantine/core';
import { diffLines } from './diffLines';
import classes from './ExportPage.module.css';

export function Diff({ text }: { text: string }) {
  return diffLines(text).map(({ place, kind, text: line }) => {
    const Tag = kind === 'added' ? 'ins' : kind === 'removed' ? 'del' : 'span';
    return (
      <Tag key={place} className={classes.line} data-kind={kind}>
        {Tag !== 'span' && <VisuallyHidden component="span">{kind}: </VisuallyHidden>}
        {`${line}\n`}
      </Tag>
    );
  });
}
