// Live facts on a page: values and ages are renewed in place; rows never move, new ones are announced.
import { listen } from "./stream.js";

const bar = document.querySelector("[data-livebar]");
const updated = bar.querySelector("[data-age]");
const pause = bar.querySelector("[data-pause]");
const show = bar.querySelector("[data-show]");
const STALE_MS = 20000;
let paused = false;
let heardAt = Date.now();
let skew = Date.parse(bar.dataset.now) - Date.now(); // the server's clock less this one's

function ago(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min ago`;
}

function beyond(cell, value) {
  const min = cell.dataset.min, max = cell.dataset.max;
  if (value === null) return "";
  if (min !== undefined && value < Number(min)) return `▲ below ${cell.dataset.minWritten ?? "min"}`;
  if (max !== undefined && value > Number(max)) return `▲ above ${cell.dataset.maxWritten ?? "max"}`;
  return "";
}

// A value with its unit; where there is none, a mark alone.
function put(cell, shown) {
  cell.querySelector("[data-shown]").textContent = shown ?? "◇";
  const unit = cell.querySelector("[data-unit]");
  if (unit) unit.hidden = shown === null;
}

function renew(fact) {
  for (const cell of document.querySelectorAll(`[data-channel="${fact.channel}"]`)) {
    const held = fact.window !== null;
    put(cell, fact.silent || held ? null : fact.shown);
    cell.classList.toggle("mute", fact.silent || held);
    if (held) cell.dataset.window = fact.window;
    else delete cell.dataset.window;
    const mark = beyond(cell, fact.value);
    cell.classList.toggle("beyond", mark !== "");
    const place = cell.querySelector("[data-mark]");
    if (place && place.textContent !== mark) place.textContent = mark;
    cell.dataset.at = fact.at ?? "";
    if (fact.patience_s) cell.dataset.patience = fact.patience_s;
  }
}

function announce(toDecide) {
  const known = Number(bar.dataset.toDecide);
  if (known < 0) return;
  const more = toDecide - known;
  show.hidden = more === 0;
  show.textContent = more > 0 ? `${more} new – show` : more < 0 ? "Decided meanwhile – show" : "";
}

function tick() {
  if (paused) return;
  const now = Date.now();
  updated.textContent = ago(now - heardAt);
  bar.classList.toggle("stale", now - heardAt > STALE_MS);
  for (const cell of document.querySelectorAll("[data-channel][data-at]")) {
    const when = cell.querySelector("[data-when]");
    const at = Date.parse(cell.dataset.at);
    if (cell.dataset.window) {
      if (when) when.textContent = cell.dataset.window;
      continue;
    }
    const old = !Number.isFinite(at) || now + skew - at > 1000 * Number(cell.dataset.patience);
    if (old) {
      cell.classList.add("mute");
      cell.classList.remove("beyond");
      put(cell, null);
      const mark = cell.querySelector("[data-mark]");
      if (mark) mark.textContent = "";
    }
    if (when) when.textContent = Number.isFinite(at) ? `${old ? "silent, last good " : ""}${ago(now + skew - at)}` : "no valid reading in 24 h";
  }
}

listen((name, content) => {
  if (name === "signed-out") {
    bar.textContent = "Signed out: what you see is no longer renewed.";
    bar.classList.add("stale");
    paused = true;
    return;
  }
  heardAt = Date.now();
  if (name === "beat") skew = Date.parse(content.at) - Date.now();
  if (paused) return;
  if (name === "readings") content.forEach(renew);
  if (name === "findings") announce(content.to_decide);
});

pause.hidden = false;
pause.addEventListener("click", () => {
  paused = !paused;
  pause.textContent = paused ? "Resume" : "Pause";
  bar.classList.toggle("paused", paused);
});
setInterval(tick, 1000);
