// A limit chart: zones beyond the limits are washed, gaps stay gaps, excursions stand in a strip below.
/* global uPlot */

const ARROWS = { ArrowLeft: -1, ArrowRight: 1 };
const STRIP = 8;
const LEAST = 3; // pixels: what is shorter than that is still seen
const MARGIN = 0.015; // of the span, after now

function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue(`--${name}`).trim();
}

function stamp(seconds, zone) {
  return new Intl.DateTimeFormat("en-US", {
    timeZone: zone, day: "numeric", month: "short", hour: "2-digit", minute: "2-digit",
    second: "2-digit", hourCycle: "h23", timeZoneName: "short",
  }).format(new Date(seconds * 1000));
}

// The span of the value axis: the values and, unless they lie far away, the limits.
function span(data, low, high) {
  const limits = data.limits.map((limit) => limit.value);
  if (low === null || high === null) [low, high] = [Math.min(...limits, 0), Math.max(...limits, 1)];
  const reach = Math.max(high - low, Math.abs(high) * 0.05, 0.1);
  for (const limit of limits) {
    if (limit > high && limit - high < 4 * reach) high = limit;
    if (limit < low && low - limit < 4 * reach) low = limit;
  }
  const room = Math.max(high - low, 0.1) * 0.08;
  return [low - 2 * room, high + 2 * room];
}

// Where nothing is judged: slanted lines, and the words where there is room.
function hatch(u, from, to, said, colour) {
  const { ctx, bbox } = u, ratio = devicePixelRatio;
  const left = Math.max(bbox.left, u.valToPos(from / 1000, "x", true));
  const right = Math.min(bbox.left + bbox.width, u.valToPos(to / 1000, "x", true));
  if (right <= left) return;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, bbox.top, right - left, bbox.height);
  ctx.clip();
  ctx.strokeStyle = colour("none");
  ctx.globalAlpha = 0.5;
  ctx.lineWidth = ratio;
  ctx.beginPath();
  for (let x = left - bbox.height; x < right; x += 12 * ratio) {
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x + bbox.height, bbox.top);
  }
  ctx.stroke();
  ctx.globalAlpha = 1;
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  const wide = ctx.measureText(said).width + 12 * ratio;
  if (right - left > wide) {
    ctx.textAlign = "left";
    ctx.textBaseline = "top";
    ctx.fillStyle = colour("ground");
    ctx.fillRect(left, bbox.top, wide, 22 * ratio);
    ctx.fillStyle = colour("quiet");
    ctx.fillText(said, left + 6 * ratio, bbox.top + 6 * ratio);
  }
  ctx.restore();
}

function under(u, data, colour) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  for (const [from, to] of data.gaps) {
    const left = u.valToPos(from / 1000, "x", true), right = u.valToPos(to / 1000, "x", true);
    ctx.fillStyle = colour("gap");
    ctx.fillRect(left, bbox.top, Math.max(right - left, devicePixelRatio), bbox.height);
  }
  for (const one of data.windows) hatch(u, one.from, one.to, one.kind.replaceAll("_", " "), colour);
  for (const [from, to] of data.not_commissioned ?? []) hatch(u, from, to, "not commissioned", colour);
  for (const limit of data.limits) {
    const y = u.valToPos(limit.value, "y", true);
    ctx.fillStyle = colour(limit.side === "above" ? "high" : "low");
    if (limit.side === "above") ctx.fillRect(bbox.left, bbox.top, bbox.width, y - bbox.top);
    else ctx.fillRect(bbox.left, y, bbox.width, bbox.top + bbox.height - y);
  }
  ctx.restore();
}

function over(u, data, colour) {
  const { ctx, bbox } = u, ratio = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  const drawn = [];
  for (const limit of data.limits) {
    const y = u.valToPos(limit.value, "y", true);
    ctx.strokeStyle = ctx.fillStyle = colour("limit");
    ctx.lineWidth = ratio;
    ctx.setLineDash(limit.side === "above" ? [8 * ratio, 4 * ratio] : [2 * ratio, 3 * ratio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.textBaseline = limit.side === "above" ? "bottom" : "top";
    const at = y + (limit.side === "above" ? -3 : 3) * ratio;
    const wide = bbox.width > 420 * ratio;
    if (drawn.some((other) => Math.abs(other - at) < 14 * ratio)) continue;
    drawn.push(at);
    ctx.fillText(wide ? `${limit.label} · ${limit.citation}` : limit.label, bbox.left + 6 * ratio, at);
  }
  ctx.setLineDash([]);
  const bottom = bbox.top + bbox.height;
  for (const one of data.excursions) {
    const starts = u.valToPos(one.starts / 1000, "x", true), ends = u.valToPos(one.ends / 1000, "x", true);
    const room = Math.max(0, LEAST * ratio - (ends - starts)) / 2;
    const left = starts - room, right = ends + room;
    ctx.fillStyle = colour("run");
    ctx.globalAlpha = 0.14;
    ctx.fillRect(left, bbox.top, right - left, bbox.height);
    ctx.globalAlpha = 1;
    ctx.fillRect(left, bottom - STRIP * ratio, right - left, STRIP * ratio);
  }
  ctx.restore();
}

// Readings without a neighbour on either side have no line: they are drawn as dots.
function lonely(u, series) {
  const values = u.data[series], found = [];
  for (let i = 0; i < values.length; i++) {
    if (values[i] !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null) found.push(i);
  }
  return found;
}

function words(u, index, data, figure) {
  const low = u.data[1][index], high = u.data[2][index], unit = figure.dataset.unit;
  const places = Math.max(0, (data.resolution.split(".")[1] ?? "").length);
  const when = stamp(u.data[0][index], data.zone);
  const held = data.windows.find((one) => one.from <= u.data[0][index] * 1000 && one.to > u.data[0][index] * 1000);
  if (low === null || low === undefined) return `${when}: ${held ? held.says : "no data"}`;
  const value = low === high ? low.toFixed(places) : `${low.toFixed(places)} to ${high.toFixed(places)}`;
  const from = u.data[0][index] * 1000, to = (u.data[0][index + 1] ?? data.until / 1000) * 1000;
  const inside = data.excursions.find((one) => one.starts < to && one.ends > from);
  return `${when}: ${value} ${unit}${inside ? ` – ${inside.says}` : ""}`;
}

function bounds(data) {
  return { min: data.since / 1000, max: (data.until + MARGIN * (data.until - data.since)) / 1000 };
}

// state.data is the newest answer: it changes while the chart stands.
function options(figure, state, colour) {
  const plot = figure.querySelector(".plot"), readout = figure.querySelector(".readout");
  const lines = { width: 1.5, stroke: colour("trace"), points: { show: true, size: 6, fill: colour("trace"), filter: (u, series) => lonely(u, series) } };
  const axis = { stroke: colour("quiet"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") } };
  return {
    width: plot.clientWidth, height: Math.max(220, Math.min(360, plot.clientWidth * 0.42)),
    legend: { show: false }, tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), state.data.zone),
    cursor: { drag: { x: false, y: false }, points: { size: 8 } },
    scales: { x: bounds(state.data), y: { range: (u, low, high) => span(state.data, low, high) } },
    series: [{}, { ...lines, label: "lowest" }, { ...lines, label: "highest" }],
    bands: [{ series: [2, 1], fill: colour("band") }],
    axes: [{ ...axis, space: 80, values: [
      [86400, "{D} {MMM}", null, null, null, null, null, null, 1],
      [3600, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
      [60, "{HH}:{mm}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
      [1, "{HH}:{mm}:{ss}", "\n{D} {MMM}", null, "\n{D} {MMM}", null, null, null, 1],
    ] }, { ...axis, size: (u, labels) => 20 + 7.5 * Math.max(3, ...(labels ?? []).map((one) => one.length)) }],
    hooks: {
      drawClear: [(u) => under(u, state.data, colour)],
      draw: [(u) => over(u, state.data, colour)],
      setCursor: [(u) => { if (u.cursor.idx !== null && u.cursor.idx !== undefined) readout.textContent = words(u, u.cursor.idx, state.data, figure); }],
    },
  };
}

function keys(u, event) {
  const step = ARROWS[event.key];
  if (!step) return;
  event.preventDefault();
  const last = u.data[0].length - 1;
  const from = u.cursor.idx ?? (step > 0 ? -1 : last + 1);
  const index = Math.min(last, Math.max(0, from + step * (event.shiftKey ? 10 : 1)));
  const value = u.data[1][index] ?? u.scales.y.min;
  u.setCursor({ left: u.valToPos(u.data[0][index], "x"), top: u.valToPos(value, "y") });
}

async function read(figure) {
  const { point, parameter, entry, since, until } = figure.dataset;
  const address = new URL(`/api/v1/points/${encodeURIComponent(point)}/readings`, location.href);
  address.search = new URLSearchParams({ parameter, entry, since, until });
  const answer = await fetch(address);
  if (!answer.ok) throw new Error((await answer.json()).detail);
  return answer.json();
}

function columns(data) {
  return [data.columns.at.map((ms) => ms / 1000), data.columns.low, data.columns.high];
}

// What the server found meanwhile: the picture grows, its sentence follows, the table below is announced.
function renew(figure, u, state) {
  u.batch(() => {
    u.setData(columns(state.data), false);
    u.setScale("x", bounds(state.data));
  });
  figure.querySelector("figcaption").textContent = state.data.says;
  const more = state.data.excursions.length - Number(figure.dataset.excursions);
  const link = figure.querySelector("[data-more]");
  link.hidden = more <= 0;
  if (more > 0) link.textContent = `${more} new – show`;
}

function follow(figure, plot, state, chart) {
  const length = Date.parse(figure.dataset.until) - Date.parse(figure.dataset.since);
  const skew = Date.parse(figure.dataset.until) - Date.now() + 1000; // the plant's clock, not this one's
  const every = Math.max(2000, Math.min(60000, length / 1800));
  const next = async () => {
    if (document.visibilityState === "visible" && !plot.matches(":focus-visible")) {
      figure.dataset.since = new Date(Date.now() + skew - length).toISOString();
      figure.dataset.until = new Date(Date.now() + skew).toISOString();
      try {
        state.data = await read(figure);
        renew(figure, chart(), state);
      } catch {
        // the next round tries again; the axis shows how old the picture is
      }
    }
    setTimeout(next, every);
  };
  setTimeout(next, every);
}

async function draw(figure) {
  const plot = figure.querySelector(".plot");
  const state = { data: null };
  try {
    state.data = await read(figure);
  } catch (error) {
    figure.querySelector("figcaption").append(` The chart could not be drawn: ${error.message}`);
    return;
  }
  let u = null;
  const paint = () => {
    u?.destroy();
    u = new uPlot(options(figure, state, colours()), columns(state.data), plot);
  };
  paint();
  figure.classList.add("drawn");
  plot.addEventListener("keydown", (event) => keys(u, event));
  new ResizeObserver(() => {
    if (Math.abs(u.width - plot.clientWidth) > 1) u.setSize({ width: plot.clientWidth, height: u.height });
  }).observe(plot);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  figure.dataset.excursions = state.data.excursions.length;
  if (figure.dataset.live !== undefined) follow(figure, plot, state, () => u);
}

document.querySelectorAll("[data-chart]").forEach(draw);
