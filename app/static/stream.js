// One stream of live facts for the whole browser, by a SharedWorker; where there is none, one for
// each visible tab. listen(handler) calls handler(name, content).
export function listen(handler) {
  if (typeof SharedWorker === "function") {
    try {
      const worker = new SharedWorker("/static/stream-worker.js");
      worker.port.onmessage = (event) => handler(event.data.name, event.data.content);
      worker.port.start();
      addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
      addEventListener("pagehide", () => worker.port.postMessage("bye"));
      return;
    } catch {
      // fall through: a stream of this tab's own
    }
  }
  let source = null;
  const open = () => {
    if (document.visibilityState !== "visible" || source) return;
    source = new EventSource("/api/v1/live");
    for (const name of ["readings", "findings", "beat", "signed-out"]) {
      source.addEventListener(name, (event) => {
        handler(name, JSON.parse(event.data));
        if (name === "signed-out") source.close();
      });
    }
  };
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") return open();
    source?.close();
    source = null;
  });
  open();
}
