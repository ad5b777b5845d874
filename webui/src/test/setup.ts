// Before every test file of components: matchers for the DOM, the API's stand-in, and the browser functions jsdom does not have.
import '@testing-library/jest-dom/vitest';
import { cleanup, configure } from '@testing-library/react';
import { afterAll, afterEach, beforeAll, vi } from 'vitest';
import '../api/errors';
import { client } from '../api/generated/client.gen';
import { api } from './render';

// Node's fetch knows no page to be relative to.
client.setConfig({ baseUrl: window.location.origin });

// Bounds and not measures, as the time limit of a test is: on a busy machine a component's first render takes seconds.
configure({ asyncUtilTimeout: 30_000 });

beforeAll(() => {
  // The testing library says so as it is loaded, which it is once for all files.
  Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });
  api.listen({ onUnhandledRequest: 'error' });
});
afterEach(() => {
  cleanup();
  api.resetHandlers();
  vi.useRealTimers();
  localStorage.clear();
  sessionStorage.clear();
});
afterAll(() => api.close());

window.matchMedia ??= (query: string) =>
  ({
    matches: false,
    media: query,
    addEventListener: vi.fn(),
    removeEventListener: vi.fn(),
    addListener: vi.fn(),
    removeListener: vi.fn(),
    dispatchEvent: () => false,
    onchange: null,
  }) as unknown as MediaQueryList;

Element.prototype.scrollIntoView ??= () => undefined;

window.ResizeObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
};

window.IntersectionObserver ??= class {
  readonly root = null;
  readonly rootMargin = '';
  readonly scrollMargin = '';
  readonly thresholds = [];
  observe() {}
  unobserve() {}
  disconnect() {}
  takeRecords = () => [];
};
