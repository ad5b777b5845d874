import { describe, expect, it } from 'vitest';
import { space } from '../../test/records';
import { chooseAxes } from './mapAxes';

describe('chooseAxes', () => {
  it('puts connections across and workers up unless told otherwise', () => {
    expect(chooseAxes(space, undefined, undefined)).toEqual({ x: 'max_connections', y: 'workers' });
    expect(chooseAxes(space, 'workers', undefined)).toEqual({ x: 'workers', y: 'sendfile' });
    expect(chooseAxes(space, 'sendfile', 'max_connections')).toEqual({ x: 'sendfile', y: 'max_connections' });
  });

  it('knows the knobs of any server by what they do', () => {
    const names: Record<string, string> = {
      workers: 'worker_processes',
      max_connections: 'worker_connections',
    };
    const knobs = space.knobs.map((knob) => ({ ...knob, name: names[knob.name] ?? knob.name }));
    expect(chooseAxes({ ...space, knobs }, undefined, undefined)).toEqual({
      x: 'worker_connections',
      y: 'worker_processes',
    });
  });

  it('ignores knobs that are not free, and gives up below two', () => {
    expect(chooseAxes(space, 'backlog', undefined)).toEqual({ x: 'max_connections', y: 'workers' });
    const fixed = { ...space.fixed, sendfile: 'nonblocking', max_connections: 64 };
    expect(chooseAxes({ ...space, fixed }, undefined, undefined)).toBeNull();
  });
});
