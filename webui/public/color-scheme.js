// Sets the colour scheme before the first paint, so that a dark page does not flash white.
// A file and not an inline script: the daemon's Content-Security-Policy allows no inline script.
(() => {
  let stored = 'auto';
  try {
    stored = localStorage.getItem('mantine-color-scheme-value') || 'auto';
  } catch {
    // The browser keeps nothing for this site: as the system has it.
  }
  const dark = stored === 'dark' || (stored === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light');
})();
