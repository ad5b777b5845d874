// Entry of the web UI: style sheets in the order they build on each other, then the app.
import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.css';
import 'virtual:mantine-variables.css';
import './app/global.css';

import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/App';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element #root');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
