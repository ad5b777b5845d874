/** The windows the Live page can show, in seconds. */
export const LIVE_WINDOWS_S = [60, 300, 900, 3600] as const;
export type LiveWindow = (typeof LIVE_WINDOWS_S)[number];
