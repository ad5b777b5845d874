import { describe, expect, it } from 'vitest';
import { defaultConfiguration, trial } from '../../test/records';
import { matches, parseFilter, withRange } from './trialFilter';

const knobs = ['workers', 'server.max-connections', 'sendfile'];
const some = trial(7, {
  configuration: { ...defaultConfiguration, workers: 4, 'server.max-connections': 512 },
  score: 600,
  reason: 'All rules hold.',
});
const keeps = (text: string) => matches(some, parseFilter(text, knobs), defaultConfiguration, 500);

describe('the filter of trials', () => {
  it('compares knobs whose names hold dots and hyphens', () => {
    expect(keeps('server.max-connections>=512')).toBe(true);
    expect(keeps('server.max-connections>512')).toBe(false);
  });

  it('compares numbers as numbers and words as words', () => {
    expect(keeps('workers=4 sendfile=nonblocking')).toBe(true);
    expect(keeps('workers<10')).toBe(true);
    expect(keeps('sendfile!=nonblocking')).toBe(false);
  });

  it('takes numbers as the table writes them', () => {
    expect(keeps('server.max-connections<1,024')).toBe(true);
    expect(keeps('server.max-connections>1,024')).toBe(false);
    expect(keeps('gain>19% gain<21%')).toBe(true);
  });

  it('knows no names but its own and those of knobs', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      expect(parseFilter(`${name}=1`, knobs).error).toContain(`"${name}" is no knob`);
      expect(keeps(`${name}=1`)).toBe(true);
    }
  });

  it('knows what a trial is besides its knobs', () => {
    expect(keeps('trial=7 score>500 gain>0.1 level=1 verdict=verified purpose=search')).toBe(true);
    const unscored = { ...some, score: null };
    expect(matches(unscored, parseFilter('score>0', knobs), defaultConfiguration, 500)).toBe(false);
  });

  it("leaves out the default's own trials where a gain is asked for", () => {
    const own = trial(8, { score: 600 });
    expect(matches(own, parseFilter('score>500', knobs), defaultConfiguration, 500)).toBe(true);
    expect(matches(own, parseFilter('gain>0.1', knobs), defaultConfiguration, 500)).toBe(false);
  });

  it('looks for words in verdict and reason', () => {
    expect(keeps('RULES verified')).toBe(true);
    expect(keeps('crashed')).toBe(false);
  });

  it('says which name it does not know and keeps the rest', () => {
    expect(parseFilter('wrkers>2', knobs).error).toContain('"wrkers" is no knob');
    expect(keeps('wrkers>2 workers=4')).toBe(true);
  });

  it('replaces the range of one knob and leaves the others', () => {
    const text = withRange('crashed workers>=1 workers<=2 sendfile=blocking', 'workers', { low: 4, high: 8 });
    expect(text).toBe('crashed sendfile=blocking workers>=4 workers<=8');
    expect(withRange(text, 'workers', null)).toBe('crashed sendfile=blocking');
    expect(withRange('', 'sendfile', { low: 'blocking', high: 'blocking' })).toBe('sendfile=blocking');
  });
});
