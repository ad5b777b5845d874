// Where the plot of every chart over time lies in its canvas: at the same place, so that one time stands under the
// other, and what is laid over the canvas fits it. In pixels; half of a time fits beside it on the right.

export const PLOT = { left: 92, right: 28, top: 16, bottom: 24 } as const;

/** The same as CSS variables. */
export const PLOT_VARIABLES = {
  '--plot-left': `${PLOT.left}px`,
  '--plot-right': `${PLOT.right}px`,
  '--plot-bottom': `${PLOT.bottom}px`,
} as const;
