// The SharedWorker: one EventSource serves every tab of this browser and is closed with the last.
const ports = new Set();
let source = null;

function tell(name, content) {
  for (const port of ports) port.postMessage({ name, content });
}

function open() {
  source = new EventSource("/api/v1/live");
  for (const name of ["readings", "findings", "beat", "signed-out"]) {
    source.addEventListener(name, (event) => {
      tell(name, JSON.parse(event.data));
      if (name === "signed-out") close();
    });
  }
  source.onerror = () => {
    if (source && source.readyState === EventSource.CLOSED) close();
  };
}

function close() {
  source?.close();
  source = null;
}

self.onconnect = (event) => {
  const port = event.ports[0];
  ports.add(port);
  port.onmessage = (message) => {
    if (message.data !== "bye") return;
    ports.delete(port);
    if (!ports.size) close();
  };
  // A new page wants the whole state at once: a fresh stream begins with it.
  close();
  open();
};
