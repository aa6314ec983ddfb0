// The print button; on paper every line's working is open.
const button = document.querySelector("[data-print]");
button.hidden = false;
button.addEventListener("click", () => print());
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
