/** What a run is called where it is talked about: `Run 7`, or `Run 7, before the upgrade`. */
export const runTitle = ({ id, name }: { id: number; name: string }): string =>
  name === '' ? `Run ${id}` : `Run ${id}, ${name}`;
