// What each setting of the recommended configuration gives, and what was tried and found worth nothing.

import { Table } from '@mantine/core';
import type { SettingEffect } from '../../api/generated';
import classes from './Run.module.css';

export function EffectsTable({ of }: { of: readonly SettingEffect[] }) {
  return (
    <Table.ScrollContainer minWidth={280} type="native" mt="md">
      <Table fz="sm" verticalSpacing={5} aria-label="What each setting gives">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Setting</Table.Th>
            <Table.Th>What it gives</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {of.map(({ setting, told, kept }) => (
            <Table.Tr key={setting} className={kept ? undefined : classes.dimmed}>
              <Table.Th scope="row" className={classes.setting}>
                <code>{setting}</code>
              </Table.Th>
              <Table.Td>{told}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
