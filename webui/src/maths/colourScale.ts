// A sequential colour scale for people and not for pipelines: light means more.
//
// The scale is a straight line in OKLCH, the perceptual colour space of B. Ottosson: lightness rises evenly from
// 0.28 to 0.93, so the order survives every kind of colour blindness and a black-and-white print; hue turns from
// violet over blue and green to yellow for those who see it. Chroma is lowered where sRGB cannot show it.

/** From the least to the most. */
export type Lightness = readonly [number, number];

const LIGHTNESS: Lightness = [0.28, 0.93];
const HUE_DEGREES = [300, 100] as const;
const CHROMA = 0.16;

export interface Rgb {
  r: number;
  g: number;
  b: number;
}

/** Linear-light sRGB (each 0…1 when inside the gamut) of an OKLCH colour; hue in degrees. */
function oklchToLinear(lightness: number, chroma: number, hue: number): [number, number, number] {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
}

function encode(linear: number): number {
  const value = Math.min(1, Math.max(0, linear));
  return Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055));
}

function decode(channel: number): number {
  const value = channel / 255;
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
}

/** The colour at `position` (0 = least, 1 = most; values outside are clamped, NaN counts as 0). */
export function sequentialColour(position: number, [least, most]: Lightness = LIGHTNESS): Rgb {
  const t = Math.min(1, Math.max(0, position || 0));
  const lightness = least + t * (most - least);
  const hue = HUE_DEGREES[0] + t * (HUE_DEGREES[1] - HUE_DEGREES[0]);
  let chroma = CHROMA;
  let linear = oklchToLinear(lightness, chroma, hue);
  while (chroma > 0 && linear.some((channel) => channel < 0 || channel > 1)) {
    chroma = Math.max(0, chroma - 0.005);
    linear = oklchToLinear(lightness, chroma, hue);
  }
  return { r: encode(linear[0]), g: encode(linear[1]), b: encode(linear[2]) };
}

export function cssColour({ r, g, b }: Rgb): string {
  return `rgb(${r} ${g} ${b})`;
}

/** More steps than an eye tells apart; the colours of thousands of lines are not worked out one by one. */
const STEPS = 256;
const scales = new WeakMap<Lightness, string[]>();

/** The colour of a line as CSS, in 256 steps, no lighter and no darker than can be seen on its background. */
export function lineCss(position: number, lightness: Lightness): string {
  const scale = scales.get(lightness) ?? [];
  scales.set(lightness, scale);
  const step = Math.round(Math.min(1, Math.max(0, position || 0)) * (STEPS - 1));
  scale[step] ??= cssColour(sequentialColour(step / (STEPS - 1), lightness));
  return scale[step];
}

/** WCAG 2 relative luminance, 0 (black) to 1 (white). */
export function luminance({ r, g, b }: Rgb): number {
  return 0.2126 * decode(r) + 0.7152 * decode(g) + 0.0722 * decode(b);
}

/** Black or white, whichever contrasts more with the background. */
export function textColourOn(background: Rgb): '#000000' | '#ffffff' {
  const light = luminance(background);
  return (light + 0.05) / 0.05 > 1.05 / (light + 0.05) ? '#000000' : '#ffffff';
}
