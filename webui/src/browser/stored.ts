// What the browser remembers for this site. It may refuse (private windows, a full disk, a policy): then nothing is
// remembered, and everything else goes on.

/** The text stored under a name; null when there is none, or it cannot be read. */
export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Remembers a text under a name, as far as the browser does; null forgets it. */
export function writeStored(name: string, text: string | null): void {
  try {
    if (text === null) localStorage.removeItem(name);
    else localStorage.setItem(name, text);
  } catch {
    // Not remembered: the next visit begins anew.
  }
}
