// Rolling shares of a user, month by month, with the two marks that matter drawn across.
/* global uPlot */

const SHADES = { flow: ["trace", []], bod5: ["warn", [8, 4]], tss: ["well", [2, 3]], tp: ["grave", [10, 3, 2, 3]] };
const NAMES = { flow: "Flow", bod5: "BOD₅", tss: "Suspended solids", tp: "Phosphorus" };

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function across(u, marks) {
  const { ctx, bbox } = u, ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = colour("limit");
  ctx.fillStyle = colour("ink");
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "right";
  for (const [place, mark] of marks.entries()) {
    const y = Math.round(u.valToPos(mark, "y", true));
    ctx.setLineDash(place ? [] : [4 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
    ctx.stroke();
    ctx.fillText(`${mark} %`, bbox.left + bbox.width - 4 * ratio, y - 4 * ratio);
  }
  ctx.restore();
}

function draw(figure) {
  const found = JSON.parse(figure.dataset.shares);
  const plot = figure.querySelector(".plot"), readout = figure.querySelector(".readout");
  const days = found.days.map((day) => Date.parse(`${day}T12:00:00Z`) / 1000);
  const names = Object.keys(found.lines).filter((name) => found.lines[name].some((one) => one !== null));
  const top = Math.max(...found.marks, ...names.flatMap((name) => found.lines[name])) * 1.15;
  const said = (index) => `${found.days[index]}: ${names.map((name) => `${NAMES[name]} ${found.lines[name][index] ?? "–"} %`).join(" · ")}`;
  let u = null;
  const paint = () => {
    u?.destroy();
    const axis = { stroke: colour("ink"), grid: { stroke: colour("line"), width: 1 } };
    u = new uPlot({
      width: plot.clientWidth,
      height: Math.max(180, Math.min(280, plot.clientWidth * 0.4)),
      legend: { show: false },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
      cursor: { drag: { x: false, y: false } },
      scales: { y: { range: [0, top] } },
      series: [{}, ...names.map((name) => ({ label: NAMES[name], stroke: colour(SHADES[name][0]), dash: SHADES[name][1], width: 2, points: { show: true, size: 5 } }))],
      axes: [axis, { ...axis, values: (_, ticks) => ticks.map((one) => `${one} %`), size: 56 }],
      hooks: {
        draw: [(one) => across(one, found.marks)],
        setCursor: [(one) => { if (one.cursor.idx !== null && one.cursor.idx !== undefined) readout.textContent = said(one.cursor.idx); }],
      },
    }, [days, ...names.map((name) => found.lines[name])], plot);
  };
  paint();
  readout.textContent = said(days.length - 1);
  figure.classList.add("drawn");
  new ResizeObserver(() => {
    if (Math.abs(u.width - plot.clientWidth) > 1) u.setSize({ width: plot.clientWidth, height: u.height });
  }).observe(plot);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
}

document.querySelectorAll("[data-shares]").forEach(draw);
