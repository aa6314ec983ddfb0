// What a worker reads for a page: a question is put, its answer awaited and shown, and again.
const EVERY_MS = 2000, LOOK_MS = 500;
const rest = (ms) => new Promise((done) => setTimeout(done, ms));

async function fetched(address, options) {
  const answer = await fetch(address, options);
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.detail);
  return said;
}

async function answered(number, query = "") {
  for (;;) {
    const said = await fetched(`/api/v1/field-questions/${number}${query}`);
    if (said.state !== "waiting") return said;
    await rest(LOOK_MS);
  }
}

function reading(one) {
  const line = document.createElement("span");
  line.className = "reading";
  if (one.order) {
    const order = document.createElement("b");
    order.textContent = one.order;
    line.append(order, " ");
  }
  line.append(one.value ?? (one.text || "no value"));
  if (one.reason) {
    const why = document.createElement("small");
    why.textContent = ` ${one.reason}`;
    line.append(why);
  }
  return line;
}

function show(place, said) {
  for (const row of place.querySelectorAll("[data-channel-read]")) {
    const read = said.channels[row.dataset.channelRead] ?? {};
    row.querySelector("[data-words]").textContent = read.words?.join(" ") || "–";
    const values = row.querySelector("[data-values]");
    const lines = (read.values ?? []).map(reading);
    values.replaceChildren(...(lines.length ? lines : [read.problem || "–"]));
  }
  place.querySelector("[data-number]").value = said.question;
}

async function follow(place) {
  const instrument = Number(place.dataset.live);
  const says = place.querySelector("[data-says]"), hold = place.querySelector("[data-hold]");
  let held = false;
  hold.hidden = false;
  hold.addEventListener("click", () => {
    held = !held;
    hold.textContent = held ? "Read on" : "Hold";
  });
  for (;;) {
    if (!held && document.visibilityState === "visible") {
      try {
        const body = JSON.stringify({ instrument });
        const headers = { "content-type": "application/json" };
        const asked = await fetched("/api/v1/field-questions", { method: "POST", body, headers });
        const said = await answered(asked.question, `?instrument=${instrument}`);
        if (said.state === "answered" && !held) show(place, said);
        says.textContent = said.problem ? `${said.problem}.` : `Read ${new Date(said.answered_at).toLocaleTimeString("en-US", { timeZone: place.dataset.zone, timeZoneName: "short", hourCycle: "h23" })} by worker ${said.taken_by}, again every two seconds.`;
      } catch (error) {
        says.textContent = `The values are not renewed: ${error.message}`;
      }
    }
    await rest(EVERY_MS);
  }
}

// What an entry is read as is proposed anew when another entry is chosen.
function propose(event) {
  const chosen = event.target.selectedOptions[0].dataset;
  for (const name of ["parameter", "channel_unit", "resolution"]) {
    if (chosen[name]) document.getElementById(name).value = chosen[name];
  }
}

document.getElementById("entry")?.addEventListener("change", propose);
for (const place of document.querySelectorAll("[data-live]")) follow(place);
for (const place of document.querySelectorAll("[data-waits]")) {
  answered(place.dataset.waits).then(() => location.reload(), (error) => { place.querySelector("[role=status]").textContent = error.message; });
}
