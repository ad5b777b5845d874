// In the place of react-chartjs-2: a chart is its canvas and what that is called. jsdom draws nothing, and a chart that
// tries takes most of a test's time; what charts show is seen in the browser tests.

interface Described {
  'aria-label'?: string;
}

const Canvas = ({ 'aria-label': label }: Described) => <canvas role="img" aria-label={label} />;

export { Canvas as Bar, Canvas as Chart, Canvas as Line };
