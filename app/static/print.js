// The print button; on paper everything that opens is open, but for the chart's table.
const button = document.querySelector("[data-print]");
button.hidden = false;
button.addEventListener("click", () => print());
addEventListener("beforeprint", () => document.querySelectorAll("details:not(.data)").forEach((d) => { d.open = true; }));
