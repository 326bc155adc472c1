// States of participants: their order, and their colours; a word always stands beside the colour.

const STATES: Record<string, string> = {
  training: "--series-3",
  committing: "--series-1",
  idle: "--series-6",
  away: "--series-5",
  lost: "--alarm",
  left: "--muted",
};

export const statePlace = (state: string) => (state in STATES ? Object.keys(STATES).indexOf(state) : 99);

export const compareStates = (a: string, b: string) => statePlace(a) - statePlace(b) || a.localeCompare(b);
export const stateNames = (states: string[]) => [...new Set(states)].sort(compareStates);
export const stateVariable = (state: string) => `var(${STATES[state] ?? "--muted"})`;
