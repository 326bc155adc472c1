// A made-up federation for tests of the dashboard: Status documents (metis/operations/status.h) that are the same for
// the same arguments, with unequal learners.

// 0 <= x < 1, the same for the same words.
function draw(...words) {
  let x = 2166136261;
  for (const c of words.join()) x = Math.imul(x ^ c.charCodeAt(0), 16777619);
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
  x = Math.imul(x ^ (x >>> 12), 0x297a2d39);
  return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32;
}

const pick = (values, x) => values[Math.min(values.length - 1, Math.floor(x * values.length))];
const GROUPS = ["fast", "slow"];
const REASONS = ["C1", "C2", "C3"];

function stateOf(k, n, phase, seconds) {
  if (phase === "waiting") return "idle";
  if (phase === "finished") return k % 29 === 28 ? "left" : "idle";
  if (n > 5 && k % 23 === 5) return "lost";
  if (n > 5 && k % 31 === 7) return "away";
  return draw("state", k, Math.floor(seconds / 2)) < 0.12 ? "committing" : "training";
}

function participant(k, n, phase, seconds) {
  const state = stateOf(k, n, phase, seconds);
  const begun = phase !== "waiting";
  const speed = (k % 2 === 0 ? 1.5 : 0.4) * (0.7 + 0.6 * draw("speed", k));
  const updates = begun ? Math.floor((seconds / 60) * speed) : 0;
  const there = state !== "lost" && state !== "away" && state !== "left";
  const examples = Math.round(200 + 5000 * draw("examples", k) ** 3);
  return {
    id: k,
    name: `site-${k + 1}`,
    role: "learner",
    group: GROUPS[k % 2],
    state,
    connected: there,
    address: there ? `10.0.${k >> 8}.${(k & 255) + 1}:${40000 + k}` : "",
    incarnation: 1 + (k % 13 === 3 ? 1 : 0),
    training_examples: examples,
    validation_examples: Math.round(examples / 20),
    version: begun ? Math.max(0, Math.floor(seconds * 0.9) - Math.floor(60 * draw("version", k))) : null,
    staleness: begun && there ? Math.floor((k % 2 === 0 ? 60 : 240) * (0.2 + draw("stale", k, Math.floor(seconds / 5)))) : null,
    contribution: updates > 0 ? 0.45 + 0.5 * draw("p", k) : 0,
    share: 0,
    updates,
    rejected: k % 17 === 4 ? 2 : 0,
    epochs: updates * 4 + (k % 3),
    updates_per_minute: there && begun ? speed : 0,
    last_seen_s: there ? draw("seen", k, seconds) * 1.5 : state === "away" ? 24 + k : 400 + k,
    cycles: updates > 0 ? { C1: Math.ceil(updates * 0.5), C2: Math.floor(updates * 0.3), C3: Math.floor(updates * 0.2) } : {},
  };
}

function observer(id, seconds) {
  const nothing = { incarnation: 1, training_examples: 0, validation_examples: 0, contribution: 0, share: 0, updates: 0 };
  const more = { rejected: 0, epochs: 0, updates_per_minute: 0, cycles: {}, version: Math.floor(seconds * 0.88), staleness: null };
  const who = { id, name: "tester", role: "observer", group: "", state: "idle", connected: true, address: "10.9.0.1:4711" };
  return { ...who, ...nothing, ...more, last_seen_s: 0.4 };
}

function testsUntil(seconds) {
  const step = Math.max(10, seconds / 240);
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, i) => {
    const t = i * step;
    const accuracy = 0.1 + 0.79 * (1 - Math.exp(-t / 500)) + 0.012 * (draw("test", i) - 0.5);
    return { time_s: t, version: Math.floor(t * 0.9), requests: Math.floor(t * 0.9), accuracy, loss: 2.3 * Math.exp(-t / 600) + 0.3 };
  });
}

function cyclesUntil(seconds, n) {
  const all = Math.min(500, Math.floor(seconds * 0.9));
  return Array.from({ length: all }, (_, i) => {
    const k = Math.floor(draw("who", i) * n);
    const slow = k % 2 === 1;
    const staleness = Math.floor((slow ? 320 : 90) * (0.5 + draw("cycle", i)));
    const time_s = seconds * (1 - (all - i - 1) / (all + 1));
    return { time_s, learner: k, epochs: 1 + Math.floor((slow ? 3 : 9) * draw("epochs", i)), reason: pick(REASONS, draw("why", i)), staleness };
  });
}

function eventsUntil(seconds, n, phase) {
  const joined = Array.from({ length: Math.min(n, 60) }, (_, k) => ({ time_s: 0.5 + k * 0.2, text: `site-${k + 1} has joined` }));
  if (phase === "waiting") return joined;
  const later = [
    { time_s: 12.5, text: "training has begun" },
    { time_s: 40, text: "tester has joined as an observer" },
    { time_s: 400, text: "site-6 is lost: nothing was heard of it for 30 s" },
    { time_s: 470, text: "site-6 has joined again (life 2)" },
    { time_s: 620, text: "an update of site-5 was refused: a parameter is not finite" },
    { time_s: 880, text: "site-8 is not connected; its lease runs for 30 s" },
  ];
  if (phase === "paused") later.push({ time_s: seconds - 8, text: "paused by an operator" });
  if (phase === "finished") later.push({ time_s: seconds, text: "finished: stop.duration" });
  return [...joined, ...later.filter((event) => event.time_s <= seconds)];
}

const REASON_OF = { waiting: "7 of 10 learners have joined", running: "", paused: "an operator paused it", finished: "" };

export function madeUp({ learners = 10, phase = "running", seconds = 2000, observers = 1 } = {}) {
  const begun = phase !== "waiting";
  const participants = Array.from({ length: learners }, (_, k) => participant(k, learners, phase, seconds));
  const total = participants.reduce((sum, one) => sum + one.contribution, 0);
  for (const one of participants) one.share = total > 0 ? one.contribution / total : 0;
  for (let i = 0; i < observers; ++i) participants.push(observer(learners + i, seconds));
  const tests = begun && observers > 0 ? testsUntil(seconds) : [];
  const best = tests.reduce((a, b) => (a === null || b.accuracy > a.accuracy ? b : a), null);
  const requests = participants.reduce((sum, one) => sum + one.updates, 0);
  const model_bytes = 6_653_480;
  return {
    ...{ program: "metis 0.1.0", federation: "5f1c0a7be2d94433", policy: "async-dvw-adaptive", dataset: "fashion-mnist" },
    ...{ model: "mnist-cnn", parameters: 1_663_370, run: "runs/first", phase, phase_reason: REASON_OF[phase] },
    ...{ stopped_by: phase === "finished" ? "duration" : "", time_s: seconds, uptime_s: seconds, version: begun ? requests : 0 },
    part: phase === "waiting" ? 0 : phase === "finished" ? 1 : Math.min(0.999, seconds / 3600),
    ...{ committed_steps: requests * 47, requests, rejected: participants.reduce((sum, one) => sum + one.rejected, 0) },
    ...{ withdrawals: 0, models_exchanged: 2 * requests, models_evaluated: requests * Math.max(0, learners - 1) },
    pending: phase === "running" ? Math.floor(3 * draw("pending", seconds)) : 0,
    requests_per_minute: phase === "running" ? participants.reduce((sum, one) => sum + one.updates_per_minute, 0) * (0.9 + 0.2 * draw("rate", seconds)) : 0,
    best,
    memory_bytes: Math.floor(48e6 + (learners + 2) * model_bytes * (1 + 0.05 * draw("memory", seconds))),
    ...{ model_bytes, bytes_received: requests * model_bytes, bytes_sent: requests * (model_bytes + 4711) },
    connected: participants.filter((one) => one.connected).length,
    ...{ refusals: 0, dropped_events: 0, participants, tests },
    cycles: begun ? cyclesUntil(seconds, learners) : [],
    events: eventsUntil(seconds, learners, phase),
  };
}
